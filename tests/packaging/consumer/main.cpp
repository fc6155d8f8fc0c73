// A stranger's first program: a model of one weight learns y = 3 x from two micro-batches of one
// sample each. It fails if what was found is not a working accrue, or if a device that is not there
// does anything but say so.
#include <cstdio>
#include <string>

#include <accrue/accrue.h>

// Whether device cuda is there, or is refused with a reason.
bool cuda_is_clear() {
  try {
    const accrue::Tensor x = accrue::ones({2}, accrue::float32, accrue::Device::cuda());
    std::printf("cuda: %s, %g\n", accrue::describe_cuda().c_str(), x.to_vector<double>()[1]);
    return accrue::cuda_is_available();
  } catch (const accrue::DeviceError& error) {
    std::printf("%s\n", error.what());
    return !accrue::cuda_is_available() && accrue::cuda_device_count() == 0;
  }
}

int main() {
  accrue::nn::Linear model(1, 1, {.bias = false});
  model.load_state_dict({{"weight", accrue::zeros({1, 1})}});
  accrue::optim::SGD optimizer(model.parameters(), {.lr = 0.1});

  for (const double sample : {1.0, 2.0}) {
    const accrue::Tensor x = accrue::full({1, 1}, sample);
    const accrue::Tensor error = model(x) - 3 * x;
    (error * error).backward({.retain_graph = false});
  }
  // dw is 2 x (x·w - 3 x) = -6 x², so -6 and -24, and a step of -dw / 10 lands on 3.
  const double grad = model.weight.grad().item();
  optimizer.step();
  const double learned = model.weight.item();
  std::printf("cuda is%s built\n", accrue::cuda_is_built() ? "" : " not");
  std::printf("accrue %s: dw = %g, w = %g\n", ACCRUE_VERSION, grad, learned);
  return grad == -30 && learned == 3 && cuda_is_clear() ? 0 : 1;
}
