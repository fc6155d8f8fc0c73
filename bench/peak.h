// The most float32 multiply-adds that this processor can do: what a matrix product is measured
// against.
#pragma once

namespace accrue::bench {

/// FLOP/s of independent chains of fused multiply-adds in registers, on so many threads of
/// accrue's pool at once, measured for some 0.1 ms. The widest vectors the processor has.
double fma_rate(int threads);

}  // namespace accrue::bench
