// The engine behind the elementwise kernels for operands of any strides, dtypes and broadcasts, and
// for sums over the dimensions that the destination lacks.
#pragma once
#include <accrue/kernels/cpu/blocks.h>
#include <accrue/kernels/loop.h>

namespace accrue::kernels::cpu {

/// Runs `block` over `loop`, which was planned for these operands. C is the type computed in.
template <class C>
void run_strided(Block<C> block, const Params& p, const Loop& loop, const ConstView* const* inputs,
                 int count, const Dest& y);

}  // namespace accrue::kernels::cpu
