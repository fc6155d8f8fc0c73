// Moving a small matrix of any dtype and strides into consecutive numbers of the type a kernel
// computes in, and back. The engine of elementwise.cpp calls these for operands that a block cannot
// read or write where they lie.
#pragma once
#include <accrue/kernels/dest.h>

namespace accrue::kernels::cpu {

/// rows x cols elements of one operand; strides in elements.
struct Tile {
  int64_t rows = 1, cols = 1;
  int64_t row_stride = 0, col_stride = 0;

  int64_t size() const { return rows * cols; }
  bool is_dense() const {
    return (col_stride == 1 || cols == 1) && (rows == 1 || row_stride == cols);
  }
  friend bool operator==(const Tile&, const Tile&) = default;
};

/// to[r * cols + c] = from[r * row_stride + c * col_stride], converted to C = float, double,
/// int64_t.
template <class C>
using Gather = void (*)(const void* from, const Tile& tile, C* to);
template <class C>
Gather<C> gather_of(DType from);

/// The way back: overwrites or adds; a number that the dtype cannot hold wraps around (integers) or
/// becomes the nearest int64 first (from floating point; NaN becomes 0).
template <class C>
using Scatter = void (*)(const C* from, const Tile& tile, void* to, Write write);
template <class C>
Scatter<C> scatter_of(DType to);

}  // namespace accrue::kernels::cpu
