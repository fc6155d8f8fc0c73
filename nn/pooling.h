// Pooling layers: the largest element, or the mean, of each window of an image.
#pragma once
#include <accrue/autograd/ops/pool.h>

#include <accrue/nn/module.h>

namespace accrue::nn {

/// The constructors throw ValueError for a window below 1 or a negative stride or padding.
class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const Pool2dOptions& options);
  explicit MaxPool2d(int64_t kernel) : MaxPool2d(Pool2dOptions{.kernel = {kernel, kernel}}) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  Pool2dOptions options_;
};

class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(const AvgPool2dOptions& options);
  explicit AvgPool2d(int64_t kernel) : AvgPool2d(AvgPool2dOptions{.kernel = {kernel, kernel}}) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  AvgPool2dOptions options_;
};

}  // namespace accrue::nn
