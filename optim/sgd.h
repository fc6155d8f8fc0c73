// Stochastic gradient descent, with momentum, Nesterov's variant and weight decay. The formulas and
// defaults are PyTorch's; kernels/optim.h states them.
#pragma once
#include <accrue/optim/optimizer.h>

namespace accrue::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;     ///< not applied on a parameter's first step
  double weight_decay = 0;  ///< added to the gradient: decay · w
  bool nesterov = false;    ///< needs momentum, and no dampening
  bool maximize = false;    ///< ascend

  /// Throws ValueError naming the field and its value.
  void check(const char* optimizer) const;
  std::vector<HyperParameter> hyper_parameters();
};

class SGD final : public GroupedOptimizer<SGDOptions> {
 public:
  explicit SGD(const Parameters& parameters, const SGDOptions& options = {});

 protected:
  bool uses(size_t group, size_t i) const override;
  void update(size_t group, std::span<const Update> all, double grad_scale) override;
};

}  // namespace accrue::optim
