// Where an element of a Loop (loop.h) lies, as a kernel asks it.
#pragma once
#include <accrue/kernels/loop.h>
#include <accrue/kernels/simt/simt.h>

namespace accrue::kernels::cuda {

inline constexpr int kOut = Nest::kOperands - 1;

/// Advances `offset` to round `index` of the first `levels` loops: Nest::add_offset with a division
/// less, as nobody asks for a round beyond the last.
__device__ inline void advance(const Nest& nest, long index, int levels, long* offset) {
  for (int d = levels - 1; d >= 0; --d) {
    const long rest = d > 0 ? index / nest.size[d] : 0;
#pragma unroll
    for (int o = 0; o < Nest::kOperands; ++o)
      offset[o] += (index - rest * nest.size[d]) * nest.stride[d][o];
    index = rest;
  }
}

/// The same kept elements over an array in which element k's part begins at k * `length`.
inline Nest over_array(Nest kept, long length) {
  for (int d = kept.rank - 1; d >= 0; --d) {
    kept.stride[d][0] = length;
    length *= kept.size[d];
  }
  return kept;
}

/// One loop of `size` rounds over the first operand.
inline Nest one_loop(long size, long stride = 1) {
  const long strides[Nest::kOperands] = {stride};
  Nest nest;
  nest.push(size, strides);
  return nest;
}

}  // namespace accrue::kernels::cuda
