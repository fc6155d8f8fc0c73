// Dropout: while training, elements are 0 with probability p and the others grow by 1 / (1 - p).
#pragma once
#include <accrue/nn/module.h>

namespace accrue::nn {

class Dropout : public Module {
 public:
  /// Throws ValueError unless p is in [0, 1].
  explicit Dropout(double p = 0.5);
  /// x itself in eval().
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double p_;
};

/// Throws ValueError naming the module unless p is in [0, 1].
void check_probability(const char* module, double p);

}  // namespace accrue::nn
