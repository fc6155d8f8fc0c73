#include <thread>

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <accrue/core/biased_lock.h>

namespace accrue {
namespace {

constexpr int kMostVisits = 64;

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
bool membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }
bool can_fence_others() { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
bool fence_others() {  // a forked process has to register again
  return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (can_fence_others() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}
#else
bool can_fence_others() { return false; }
bool fence_others() { return true; }
#endif

}  // namespace

void BiasedLock::lock_slowly() {
  inner_.lock();
  if (visits_ > kMostVisits) return;
  const char* const owner = owner_.load(std::memory_order_relaxed);
  if (!owner) {  // the first of all: its own from the next time on, if that can be
    if (can_fence_others())
      owner_.store(&this_thread, std::memory_order_relaxed);
    else
      visits_ = kMostVisits + 1;
  } else if (owner != &this_thread) {
    ++visits_;
    visited_.store(true, std::memory_order_relaxed);
    while (!fence_others()) std::this_thread::yield();
    while (inside_.load(std::memory_order_acquire)) std::this_thread::yield();
  }
}

void BiasedLock::unlock_slowly() {
  if (visits_ <= kMostVisits) visited_.store(false, std::memory_order_release);
  inner_.unlock();
}

}  // namespace accrue
