#include <accrue/autograd/ops/dropout.h>

#include <accrue/nn/dropout.h>

namespace accrue::nn {

void check_probability(const char* module, double p) {
  check<ValueError>(p >= 0 && p <= 1, module, ": the dropout is ", p, "; it must be in [0, 1]");
}

Dropout::Dropout(double p) : p_(p) { check_probability("Dropout", p); }

Tensor Dropout::forward(const Tensor& x) { return dropout(x, p_, training()); }

std::string Dropout::extra_repr() const { return detail::concat("p=", p_); }

}  // namespace accrue::nn
