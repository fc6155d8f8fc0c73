// A lock that costs the thread which uses it most no locked instruction: every tensor takes the
// allocator's twice, and usually one thread makes them all.
//
// The first thread to lock owns the lock. It enters by raising `inside_` and looking whether a
// visitor is there; others hold the inner lock, announce their visit, and wait until the owner is
// outside. Between the owner's store and load there is no fence: the visitor has the system run one
// on every processor instead (membarrier). After some visits the lock is an ordinary one for good.
#pragma once
#include <atomic>

#include <accrue/core/spin_lock.h>

namespace accrue {

class BiasedLock {
 public:
  void lock() {
    if (owner_.load(std::memory_order_relaxed) == &this_thread) {
      inside_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (!visited_.load(std::memory_order_acquire)) [[likely]] {
        is_fast_ = true;
        return;
      }
      inside_.store(false, std::memory_order_release);
    }
    lock_slowly();
  }
  void unlock() {
    if (is_fast_) {
      is_fast_ = false;
      inside_.store(false, std::memory_order_release);
    } else {
      unlock_slowly();
    }
  }

 private:
  void lock_slowly();
  void unlock_slowly();

  static inline constinit thread_local char this_thread = 0;  // its address names the thread

  std::atomic<const char*> owner_{nullptr};
  std::atomic<bool> inside_{false};
  std::atomic<bool> visited_{false};
  bool is_fast_ = false;  // how the holder came in
  int visits_ = 0;        // under inner_
  SpinLock inner_;
};

}  // namespace accrue
