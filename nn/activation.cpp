#include <accrue/autograd/ops/softmax.h>

#include <accrue/nn/activation.h>

namespace accrue::nn {

Tensor ReLU::forward(const Tensor& x) { return relu(x); }
Tensor SiLU::forward(const Tensor& x) { return silu(x); }
Tensor Tanh::forward(const Tensor& x) { return tanh(x); }
Tensor Sigmoid::forward(const Tensor& x) { return sigmoid(x); }

Tensor GELU::forward(const Tensor& x) { return gelu(x, approximation_); }
std::string GELU::extra_repr() const {
  return approximation_ == GeluApproximation::none ? "" : "approximate=tanh";
}

Tensor Softmax::forward(const Tensor& x) { return softmax(x, dim_); }
std::string Softmax::extra_repr() const { return detail::concat("dim=", dim_); }

Tensor LogSoftmax::forward(const Tensor& x) { return log_softmax(x, dim_); }
std::string LogSoftmax::extra_repr() const { return detail::concat("dim=", dim_); }

}  // namespace accrue::nn
