// Losses as objects that hold their options: loss(prediction, target).
#pragma once
#include <accrue/autograd/ops/loss.h>

namespace accrue::nn {

/// See cross_entropy().
class CrossEntropyLoss {
 public:
  explicit CrossEntropyLoss(CrossEntropyOptions options = {}) : options_(std::move(options)) {}
  Tensor operator()(const Tensor& logits, const Tensor& target) const {
    return cross_entropy(logits, target, options_);
  }

 private:
  CrossEntropyOptions options_;
};

/// The mean square of the difference; see mse_loss().
class MSELoss {
 public:
  explicit MSELoss(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  Tensor operator()(const Tensor& prediction, const Tensor& target) const {
    return mse_loss(prediction, target, reduction_);
  }

 private:
  Reduction reduction_;
};

/// The mean absolute difference; see l1_loss().
class L1Loss {
 public:
  explicit L1Loss(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  Tensor operator()(const Tensor& prediction, const Tensor& target) const {
    return l1_loss(prediction, target, reduction_);
  }

 private:
  Reduction reduction_;
};

}  // namespace accrue::nn
