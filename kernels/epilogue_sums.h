// Where a product's sums rest before the function of its Epilogue is applied to them. Users:
// cpu/matmul.cpp, cuda/matmul.cu.
#pragma once
#include <optional>

#include <accrue/core/layout.h>
#include <accrue/core/workspace.h>

#include <accrue/kernels/matmul.h>

namespace accrue::kernels {

/// They rest in c or `argument`, or in scratch memory if those would round them and f would see it.
class EpilogueSums {
 public:
  EpilogueSums(const Epilogue& e, const Dest& c) : dest_(e.argument.wanted() ? e.argument : c) {
    if (e.f != Unary::gelu_tanh || !is_16bit_float(c.view.dtype)) return;
    const Dims& shape = c.view.shape;
    scratch_.emplace(static_cast<size_t>(numel(shape)) * sizeof(float), c.view.device);
    dest_ = {View{scratch_->data(), shape, layout::contiguous(shape).strides, DType::float32,
                  c.view.device},
             Write::overwrite};
  }
  const Dest& dest() const { return dest_; }
  /// c = f(sums), and `argument` = the sums if they are not there already; by a backend's unary().
  template <class UnaryKernel>
  void apply(const Epilogue& e, const Dest& c, UnaryKernel unary) const {
    if (e.f == Unary::identity) return;
    if (scratch_ && e.argument.wanted()) unary(Unary::identity, {}, dest_.view, e.argument);
    unary(e.f, {}, dest_.view, c);
  }

 private:
  std::optional<Workspace> scratch_;
  Dest dest_;
};

}  // namespace accrue::kernels
