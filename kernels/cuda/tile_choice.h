// How large the tiles of a product are. Large ones read less, small ones keep more multiprocessors
// busy; the result is the same. A test or a benchmark may insist on one.
#pragma once
#include <cstdint>

namespace accrue::kernels::cuda {

enum class TileChoice : uint8_t { any, small, medium, large };

/// From now on products are computed in such tiles, as far as they are made for them.
void force_tile(TileChoice choice);

TileChoice choose_tile(int64_t batches, int64_t m, int64_t n);

/// Pieces of `side` in n.
constexpr int64_t tiles_of(int64_t n, int64_t side) { return (n + side - 1) / side; }

}  // namespace accrue::kernels::cuda
