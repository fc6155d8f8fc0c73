// Tensors with names: how a module hands its parameters to an optimizer, and how both hand their
// state to a file. In core, so that nn, optim and io speak of the same thing without each other.
#pragma once
#include <map>
#include <string>

#include <accrue/core/tensor.h>

namespace accrue {

struct NamedTensor {
  std::string name;
  Tensor value;
};

/// What state_dict() gives and load_state_dict() takes: values by name, in the names' order.
using StateDict = std::map<std::string, Tensor>;

}  // namespace accrue
