#include <accrue/autograd/live_nodes.h>

namespace accrue::detail {
namespace {

// Cells stay for ever, and with them what their threads counted; a thread that ends leaves its cell
// to the next.
std::atomic<LiveNodes*> cells = nullptr;

struct Leaver {
  LiveNodes*& mine;
  ~Leaver() {
    mine->is_taken.store(false, std::memory_order_release);
    mine = nullptr;
  }
};

}  // namespace

constinit thread_local LiveNodes* LiveNodes::mine = nullptr;

LiveNodes* LiveNodes::take() {
  LiveNodes* cell = cells.load(std::memory_order_acquire);
  while (cell && cell->is_taken.exchange(true, std::memory_order_acquire)) cell = cell->next;
  if (!cell) {
    cell = new LiveNodes;
    cell->next = cells.load(std::memory_order_relaxed);
    while (!cells.compare_exchange_weak(cell->next, cell, std::memory_order_release)) {
    }
  }
  mine = cell;
  // A thread that frees a node after this has gone keeps the cell it takes then.
  static thread_local const Leaver leaver{mine};
  return cell;
}

int64_t LiveNodes::total() {
  int64_t sum = 0;
  for (const LiveNodes* cell = cells.load(std::memory_order_acquire); cell; cell = cell->next)
    sum += cell->count.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace accrue::detail
