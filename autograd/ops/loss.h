// Losses. A prediction and its target never broadcast: shapes that differ are an error.
//
// Reduction::none gives one loss for each item, sum their sum, mean their mean over the items that
// count. With nothing to count (no items, or all ignored) a sum and a mean are 0, and so is the
// gradient: a window of accumulation survives such a micro-batch. The gradient of a sum is, item by
// item, independent of the other items; so a batch may be cut.
#pragma once
#include <accrue/core/tensor.h>

#include <accrue/kernels/loss.h>

namespace accrue {

struct CrossEntropyOptions {
  /// One weight for each class; 1 if not defined. Takes no gradient.
  Tensor weight;
  /// Items with this target do not count.
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
  /// The share of the target distribution that is spread evenly over all classes.
  double label_smoothing = 0;
};

/// logits [N, C, ...] or [C], targets (int64 or int32) [N, ...] or []: with p = softmax(logits)
/// over the classes, t the target, w the weights, ε the label smoothing,
///   loss = -(1 - ε) · w_t · ln p_t - ε/C · Σ_c w_c · ln p_c
///   dlogits = dy · ((1 - ε) · w_t · (p - [c = t]) + ε/C · (p · Σ w - w_c))
/// A mean is divided by the sum of w_t over the items that count. One kernel each way.
/// Throws ShapeError, DTypeError, ValueError for a smoothing outside [0, 1], and IndexError for a
/// target that is neither in [0, C) nor ignore_index.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});

/// loss = (prediction - target)²      dprediction = dy · 2 (prediction - target) = -dtarget
/// Throws ShapeError unless the shapes are equal.
Tensor mse_loss(const Tensor& prediction, const Tensor& target,
                Reduction reduction = Reduction::mean);
/// loss = |prediction - target|       dprediction = dy · sign(prediction - target) = -dtarget
/// Throws ShapeError unless the shapes are equal.
Tensor l1_loss(const Tensor& prediction, const Tensor& target,
               Reduction reduction = Reduction::mean);

}  // namespace accrue
