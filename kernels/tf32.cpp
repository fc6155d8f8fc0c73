#include <atomic>

#include <accrue/kernels/tf32.h>

namespace accrue {
namespace {
std::atomic<bool> allowed{false};
}

void set_allow_tf32(bool on) { allowed.store(on, std::memory_order_relaxed); }
bool allow_tf32() { return allowed.load(std::memory_order_relaxed); }

}  // namespace accrue
