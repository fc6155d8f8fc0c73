#include <accrue/optim/parameters.h>

namespace accrue::optim {

Parameters::Parameters(const std::vector<Tensor>& tensors) : numbered_(true) {
  list_.reserve(tensors.size());
  for (const Tensor& x : tensors) list_.push_back({std::to_string(list_.size()), x});
}

}  // namespace accrue::optim
