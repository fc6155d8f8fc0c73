// Parameters: the list that optimizers and clipping take. It is made from a module's
// named_parameters() or parameters(), or from tensors in braces.
#pragma once
#include <initializer_list>
#include <vector>

#include <accrue/core/named_tensor.h>

namespace accrue::optim {

class Parameters {
 public:
  Parameters() = default;
  /// Called by their numbers: "0", "1", ...
  Parameters(const std::vector<Tensor>& tensors);
  Parameters(std::initializer_list<Tensor> tensors) : Parameters(std::vector<Tensor>(tensors)) {}
  Parameters(std::vector<NamedTensor> named) : list_(std::move(named)) {}
  Parameters(std::initializer_list<NamedTensor> named) : list_(named) {}

  size_t size() const { return list_.size(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  const NamedTensor& operator[](size_t i) const { return list_[i]; }

 private:
  friend class Optimizer;
  std::vector<NamedTensor> list_;
  bool numbered_ = false;
};

}  // namespace accrue::optim
