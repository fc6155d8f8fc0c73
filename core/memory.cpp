#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <accrue/core/allocator.h>
#include <accrue/core/cpu_allocator.h>
#include <accrue/core/error.h>
#include <accrue/core/out_of_memory.h>
#include <accrue/core/spin_lock.h>

namespace accrue {
namespace {

#ifdef NDEBUG
constexpr bool kPoisonAtFirst = false;
#else
constexpr bool kPoisonAtFirst = true;
#endif

constexpr int kPoison = 0xff;  // NaN in every floating type, -1 in the signed integers

/// The memory of one device: its allocator, what is counted, and the seams, under one lock.
struct Pool {
  SpinLock lock;
  Allocator* source;
  MemoryStats stats;
  int64_t limit = 0;
  bool poison = kPoisonAtFirst;
  int64_t seen = 0;        // allocations since the last fail_allocation()
  int64_t fail_first = 0;  // from this one to fail_last they fail; 0 for none
  int64_t fail_last = 0;
};

// Neither has a destructor: tensors in static storage may outlive everything.
constinit CpuAllocator cpu_allocator(ACCRUE_ADDRESS_SANITIZER);
constinit Pool cpu_pool{.source = &cpu_allocator};
thread_local MemoryKind current_kind = MemoryKind::activation;

Pool& pool_of(Device device) {
  check<DeviceError>(device.is_cpu(), "memory: this build has no memory on ", device,
                     "; use the cpu");
  return cpu_pool;
}

/// Counts live bytes in, and sees whether that is a new peak.
void add(MemoryUse& use, int64_t bytes) {
  use.live += bytes;
  use.peak = std::max(use.peak, use.live);
}

MemoryUse& use_of(Pool& pool, MemoryKind kind) {
  return pool.stats.by_kind[static_cast<size_t>(kind)];
}

}  // namespace

const char* name_of(MemoryKind kind) {
  constexpr const char* names[] = {"activation", "parameter", "gradient", "optimizer", "workspace"};
  return names[static_cast<int>(kind)];
}

void* allocate(Device device, size_t bytes, MemoryKind kind) {
  Pool& pool = pool_of(device);
  const auto asked = static_cast<int64_t>(std::min<size_t>(bytes, INT64_MAX));
  std::unique_lock lock(pool.lock);
  pool.stats.blocks += kind != MemoryKind::workspace;
  if (bytes == 0) return nullptr;
  ++pool.seen;
  const bool fails = pool.seen >= pool.fail_first && pool.seen <= pool.fail_last;
  const bool fits = pool.limit == 0 || asked <= pool.limit - pool.stats.total.live;
  void* memory = fits && !fails ? pool.source->allocate(bytes) : nullptr;
  if (!memory) [[unlikely]] {
    pool.stats.blocks -= kind != MemoryKind::workspace;
    const Shortage shortage{asked, kind, fits ? 0 : pool.limit, fails, pool.stats};
    lock.unlock();
    throw_out_of_memory(shortage);
  }
  add(pool.stats.total, asked);
  add(use_of(pool, kind), asked);
  ++pool.stats.total.count;
  ++use_of(pool, kind).count;
  const bool poison = pool.poison;
  lock.unlock();
  if (poison) std::memset(memory, kPoison, bytes);
  return memory;
}

void deallocate(Device device, void* memory, size_t bytes, MemoryKind kind) noexcept {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  pool.stats.blocks -= kind != MemoryKind::workspace;
  if (!memory) return;
  if (pool.poison) std::memset(memory, kPoison, bytes);
  pool.stats.total.live -= static_cast<int64_t>(bytes);
  use_of(pool, kind).live -= static_cast<int64_t>(bytes);
  pool.source->deallocate(memory, bytes);
}

void recount(Device device, size_t bytes, MemoryKind from, MemoryKind to) noexcept {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  use_of(pool, from).live -= static_cast<int64_t>(bytes);
  add(use_of(pool, to), static_cast<int64_t>(bytes));
}

MemoryStats memory_stats(Device device) {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  MemoryStats stats = pool.stats;
  stats.reserved = pool.source->reserved();
  stats.system_requests = pool.source->system_requests();
  return stats;
}

void reset_peak_memory_stats(Device device) {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  pool.stats.total.peak = pool.stats.total.live;
  for (MemoryUse& use : pool.stats.by_kind) use.peak = use.live;
}

void set_memory_limit(int64_t bytes, Device device) {
  check<ValueError>(bytes >= 0, "set_memory_limit: ", bytes,
                    " bytes; the limit is positive, or 0 for none");
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  pool.limit = bytes;
}

int64_t memory_limit(Device device) {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  return pool.limit;
}

void release_cached_memory(Device device) {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  pool.source->release_cached();
}

MemoryKind current_memory_kind() { return current_kind; }
MemoryKindGuard::MemoryKindGuard(MemoryKind kind) : before_(current_kind) { current_kind = kind; }
MemoryKindGuard::~MemoryKindGuard() { current_kind = before_; }

namespace memory_testing {

void set_pass_through(bool on) {
  const std::lock_guard lock(cpu_pool.lock);
  cpu_pool.source->set_pass_through(on);
}

void set_poison(bool on) {
  const std::lock_guard lock(cpu_pool.lock);
  cpu_pool.poison = on;
}

void fail_allocation(int64_t n, bool forever) {
  check<ValueError>(n >= 0, "fail_allocation: allocation ", n,
                    "; the next one is 1, and 0 stops failing");
  const std::lock_guard lock(cpu_pool.lock);
  cpu_pool.seen = 0;
  cpu_pool.fail_first = n;
  cpu_pool.fail_last = forever && n > 0 ? INT64_MAX : n;
}

int64_t allocations_seen() {
  const std::lock_guard lock(cpu_pool.lock);
  return cpu_pool.seen;
}

}  // namespace memory_testing
}  // namespace accrue
