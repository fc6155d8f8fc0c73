// Adam, and AdamW, which decays the weights themselves and not through the gradient. The formulas
// and defaults are PyTorch's; kernels/optim.h states them. Each parameter counts its own steps, so
// one that gets its first gradient late starts with the right bias correction.
#pragma once
#include <accrue/optim/optimizer.h>

namespace accrue::optim {

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;  ///< added to the gradient: decay · w
  bool amsgrad = false;     ///< divide by the largest second moment so far
  bool maximize = false;    ///< ascend

  /// Throws ValueError naming the field and its value.
  void check(const char* optimizer) const;
  std::vector<HyperParameter> hyper_parameters();
};

struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;  ///< w is multiplied by 1 - lr · decay
  bool amsgrad = false;        ///< divide by the largest second moment so far
  bool maximize = false;       ///< ascend

  /// Throws ValueError naming the field and its value.
  void check(const char* optimizer) const;
  std::vector<HyperParameter> hyper_parameters();
};

template <class Options>
class BasicAdam final : public GroupedOptimizer<Options> {
 public:
  explicit BasicAdam(const Parameters& parameters, const Options& options = {});

 protected:
  using Update = Optimizer::Update;
  bool uses(size_t group, size_t i) const override;
  void update(size_t group, std::span<const Update> all, double grad_scale) override;
};

extern template class BasicAdam<AdamOptions>;
extern template class BasicAdam<AdamWOptions>;

using Adam = BasicAdam<AdamOptions>;
using AdamW = BasicAdam<AdamWOptions>;

}  // namespace accrue::optim
