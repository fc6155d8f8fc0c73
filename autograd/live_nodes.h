// Counts the nodes that are alive, without an instruction that threads share: each thread counts
// what it makes and frees in a cell of its own, and the cells are added up when somebody asks.
#pragma once
#include <atomic>
#include <cstdint>

namespace accrue::detail {

struct alignas(64) LiveNodes {
  std::atomic<int64_t> count{0};  // may be negative: one thread makes, another frees
  std::atomic<bool> is_taken{true};
  LiveNodes* next = nullptr;

  static void add(int64_t nodes) {
    if (!mine) [[unlikely]]
      mine = take();
    mine->count.store(mine->count.load(std::memory_order_relaxed) + nodes,
                      std::memory_order_relaxed);
  }
  /// Exact unless another thread makes or frees nodes at the moment.
  static int64_t total();

 private:
  static LiveNodes* take();
  static thread_local LiveNodes* mine;
};

}  // namespace accrue::detail
