// The models of `accrue train`.
#pragma once
#include <memory>
#include <string>

#include <accrue/nn/module.h>

namespace accrue::tools {

/// "mlp": 784-256-128-10 with ReLU; "cnn": 16 and 32 channels of 3x3, each with ReLU and 2x2 max
/// pooling, then 128 and 10. Both take images [N, 1, 28, 28]. Throws ValueError for other names.
std::shared_ptr<nn::Module> make_model(const std::string& name);

}  // namespace accrue::tools
