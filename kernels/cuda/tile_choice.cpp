#include <atomic>

#include <accrue/kernels/cuda/tile_choice.h>

namespace accrue::kernels::cuda {
namespace {

/// About as many tiles as a large device has multiprocessors.
constexpr int64_t kEnough = 128;

std::atomic<TileChoice> forced{TileChoice::any};

}  // namespace

void force_tile(TileChoice choice) { forced.store(choice, std::memory_order_relaxed); }

TileChoice choose_tile(int64_t batches, int64_t m, int64_t n) {
  const TileChoice wanted = forced.load(std::memory_order_relaxed);
  if (wanted != TileChoice::any) return wanted;
  const auto busy = [&](int64_t side) {
    return batches * tiles_of(m, side) * tiles_of(n, side) >= kEnough && m > side / 2 &&
           n > side / 2;
  };
  return busy(128) ? TileChoice::large : busy(64) ? TileChoice::medium : TileChoice::small;
}

}  // namespace accrue::kernels::cuda
