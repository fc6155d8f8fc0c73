// A lock for sections of a few nanoseconds: one locked instruction to take, a plain store to leave.
// std::mutex costs twice that, which is visible when every tensor takes it twice.
#pragma once
#include <atomic>
#include <thread>

namespace accrue {

class SpinLock {
 public:
  void lock() {
    for (int tries = 0; held_.exchange(true, std::memory_order_acquire); ++tries)
      while (held_.load(std::memory_order_relaxed))
        if (++tries > 64) std::this_thread::yield();  // the holder may wait for a processor
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace accrue
