#include <accrue/autograd/ops/shape.h>

#include <accrue/nn/container.h>

namespace accrue::nn {

Module& Sequential::operator[](size_t i) const {
  check<IndexError>(i < size(), "Sequential: there is no module ", i, "; it has ", size(),
                    ", and the number must be below that");
  return *children()[i].second;
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (const auto& child : children()) y = child.second->forward(y);
  return y;
}

Tensor Flatten::forward(const Tensor& x) { return flatten(x, start_, end_); }

std::string Flatten::extra_repr() const {
  return detail::concat("start_dim=", start_, ", end_dim=", end_);
}

}  // namespace accrue::nn
