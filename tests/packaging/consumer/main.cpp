// A stranger's first program: y = x·w learns w = 3 from two micro-batches of one sample each. It
// fails if what was found is not a working accrue.
#include <cstdio>

#include <accrue/accrue.h>

int main() {
  accrue::Tensor w = accrue::zeros({1, 1});
  w.set_requires_grad();
  for (const double sample : {1.0, 2.0}) {
    const accrue::Tensor x = accrue::full({1, 1}, sample);
    const accrue::Tensor error = matmul(x, w) - 3 * x;
    (error * error).backward({.retain_graph = false});
  }
  // dw is 2 x (x·w - 3 x) = -6 x², so -6 and -24, and a step of -dw / 10 lands on 3.
  const double grad = w.grad().item();
  const double learned = w.item() - grad / 10;
  std::printf("accrue %s: dw = %g, w = %g\n", ACCRUE_VERSION, grad, learned);
  return grad == -30 && learned == 3 ? 0 : 1;
}
