#include <utility>

#include <accrue/kernels/random.h>

#include <accrue/autograd/ops/dropout.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// y = x / (1 - p) where bits(i) >= p, else 0      dx = dy / (1 - p) where bits(i) >= p, else 0
struct Dropout {
  static constexpr const char* name = "dropout";
  double p;
  Generator* generator;  // until forward has drawn
  Philox bits = {};
  Tensor forward(const Tensor& x) {
    Tensor y = ops::result_of(x);
    bits = std::exchange(generator, nullptr)->next_call();  // when nothing can fail any more
    kernels::dropout(x, p, bits, into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::dropout(dy, p, bits, into(dx));
  }
};

}  // namespace

Tensor dropout(const Tensor& x, double p, bool training, Generator& generator) {
  ops::check_floating(Dropout::name, x);
  check<ValueError>(p >= 0 && p <= 1, Dropout::name, ": the probability is ", p,
                    "; it must be in [0, 1]");
  if (!training || p == 0) return x;
  return apply(Dropout{p, &generator}, x);
}

}  // namespace accrue
