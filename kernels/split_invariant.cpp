#include <atomic>

#include <accrue/kernels/split_invariant.h>

namespace accrue {
namespace {
std::atomic<bool> wanted{false};
}

void set_split_invariant(bool on) { wanted.store(on, std::memory_order_relaxed); }
bool split_invariant() { return wanted.load(std::memory_order_relaxed); }

}  // namespace accrue
