#include <cstdlib>
#include <mutex>

#include <accrue/core/allocator.h>
#include <accrue/core/error.h>

namespace accrue {
namespace {
std::mutex mutex;
MemoryStats stats;
int64_t limit = 0;
thread_local MemoryKind current_kind = MemoryKind::activation;
void count(MemoryUse& use, int64_t bytes) {
  use.live += bytes;
  use.peak = std::max(use.peak, use.live);
  use.count += bytes > 0;
}
}  // namespace

const char* name_of(MemoryKind kind) {
  constexpr const char* names[] = {"activation", "parameter", "gradient", "optimizer", "workspace"};
  return names[static_cast<int>(kind)];
}
MemoryStats memory_stats(Device) {
  const std::lock_guard lock(mutex);
  return stats;
}
void reset_peak_memory_stats(Device) {
  const std::lock_guard lock(mutex);
  stats.total.peak = stats.total.live;
  for (auto& use : stats.by_kind) use.peak = use.live;
}
void set_memory_limit(int64_t bytes, Device) { limit = bytes; }
int64_t memory_limit(Device) { return limit; }
void release_cached_memory(Device) {}
MemoryKind current_memory_kind() { return current_kind; }
MemoryKindGuard::MemoryKindGuard(MemoryKind kind) : before_(current_kind) { current_kind = kind; }
MemoryKindGuard::~MemoryKindGuard() { current_kind = before_; }

void* allocate(Device, size_t bytes, MemoryKind kind) {
  if (bytes == 0) return nullptr;
  void* p = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  check<OutOfMemory>(p != nullptr, "memory: the system has no ", bytes, " bytes");
  const std::lock_guard lock(mutex);
  count(stats.total, static_cast<int64_t>(bytes));
  count(stats.by_kind[static_cast<size_t>(kind)], static_cast<int64_t>(bytes));
  return p;
}
void deallocate(Device, void* memory, size_t bytes, MemoryKind kind) noexcept {
  if (!memory) return;
  std::free(memory);
  const std::lock_guard lock(mutex);
  count(stats.total, -static_cast<int64_t>(bytes));
  count(stats.by_kind[static_cast<size_t>(kind)], -static_cast<int64_t>(bytes));
}
void recount(Device, size_t bytes, MemoryKind from, MemoryKind to) noexcept {
  const std::lock_guard lock(mutex);
  count(stats.by_kind[static_cast<size_t>(from)], -static_cast<int64_t>(bytes));
  count(stats.by_kind[static_cast<size_t>(to)], static_cast<int64_t>(bytes));
}
}  // namespace accrue
