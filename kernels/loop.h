// Loop: the plan of an elementwise kernel over strided operands. Inputs broadcast to a common
// shape; dimensions of it that the output lacks, or has as 1, are summed.
//
// The order of a sum is part of a kernel's meaning, so that the same data give the same bits
// whatever its strides, and so that a batch may arrive in slices:
//   y[k] = ((start + t(k,0)) + t(k,1)) + ...   over `chain`, one step after another,
//   t(k,c) = the sum over `inner`.
// `chain` begins with the first summed dimension and holds every summed one that a kept dimension
// follows; `inner` holds the summed ones behind the last kept dimension, except the first.
// Now read: cpu/elementwise.cpp.
#pragma once
#include <cstdint>

#include <accrue/core/view.h>

namespace accrue::kernels {

/// Nested loops, outermost first, without loops of one round; neighbours that lie in memory like
/// one longer loop are one.
struct Nest {
  static constexpr int kOperands = 4;  ///< three inputs, then the output

  int rank = 0;
  int64_t size[kMaxRank] = {};
  int64_t stride[kMaxRank][kOperands] = {};  ///< in elements; 0 where an operand is repeated

  void push(int64_t its_size, const int64_t* its_stride);
  /// Makes one loop of neighbours that lie in memory like one, in every operand.
  void merge_neighbours();
  ACCRUE_HD int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= size[i];
    return n;
  }
  /// Advances `offset` (in elements) to round `index` of the first `levels` loops.
  ACCRUE_HD void add_offset(int64_t index, int levels, int64_t* offset) const {
    for (int i = levels - 1; i >= 0; --i) {
      const int64_t rest = index / size[i];
      for (int o = 0; o < kOperands; ++o) offset[o] += (index - rest * size[i]) * stride[i][o];
      index = rest;
    }
  }
};

struct Loop {
  Nest kept, chain, inner;
  bool sums() const { return chain.rank + inner.rank != 0; }
  /// chain, then inner: the summed dimensions in row-major order.
  Nest summed() const;
};

/// The plan for `inputs` (at most 3) and y. y takes part in the broadcast, so an input may also be
/// repeated to y's shape. Throws ShapeError, with `op` in front, if the shapes do not fit.
Loop plan_loop(const char* op, const ConstView* const* inputs, int count, const View& y);

}  // namespace accrue::kernels
