// Blocks: what the vector code offers to the engine of elementwise.cpp. A Block computes one
// function over n elements that lie one after another; strides, dtypes and sums are the engine's.
#pragma once
#include <accrue/kernels/dest.h>
#include <accrue/kernels/functors.h>

namespace accrue::kernels::cpu {

/// out[i] = f(in[0][i], in[1][i], ...), or out[i] += that. An element's result does not depend on
/// where it stands or on n. `out` may be one of the inputs.
template <class C>
using Block = void (*)(Params p, const C* const* in, C* out, int64_t n, Write write);

/// The block of a function for C = float, double or int64_t; null where integers do not have it.
template <class C>
Block<C> block_of(Unary f);
template <class C>
Block<C> block_of(Binary f);
template <class C>
Block<C> block_of(Ternary f);

}  // namespace accrue::kernels::cpu
