#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

#include <accrue/core/allocator.h>
#include <accrue/core/cpu_allocator.h>
#include <accrue/core/cuda/backend.h>
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
  Allocator* source = nullptr;
  MemoryStats stats;
  int64_t limit = 0;
  bool poison = false;
  int64_t seen = 0;        // allocations since the last fail_allocation()
  int64_t fail_first = 0;  // from this one to fail_last they fail; 0 for none
  int64_t fail_last = 0;
};

// Neither has a destructor: tensors in static storage may outlive everything.
constinit CpuAllocator cpu_allocator(ACCRUE_ADDRESS_SANITIZER);
constinit Pool cpu_pool{.source = &cpu_allocator, .poison = kPoisonAtFirst};
constinit Pool pinned_pool;
constinit std::array<Pool, kMaxDevices> cuda_pools;
thread_local MemoryKind current_kind = MemoryKind::activation;

/// A pool whose allocator is asked for when it is first needed.
template <class Find>
Pool& with_source(Pool& pool, Find find) {
  const std::lock_guard lock(pool.lock);
  if (!pool.source) pool.source = &find();
  return pool;
}

Pool& pool_on_cuda(Place place) {
  if (place.pinned)
    return with_source(pinned_pool, []() -> Allocator& { return cuda::pinned_allocator(); });
  const Device device = place.device;
  check<DeviceError>(device.index >= 0 && device.index < cuda_device_count(),
                     "memory: there is no memory on ", device, ": ", describe_cuda(device.index),
                     "; use the cpu");
  return with_source(cuda_pools[static_cast<uint8_t>(device.index)],
                     [&]() -> Allocator& { return cuda::allocator(device.index); });
}

Pool& pool_of(Place place) {
  if (place.device.is_cpu() && !place.pinned) [[likely]]
    return cpu_pool;
  return pool_on_cuda(place);
}

MemoryStats stats_of(Pool& pool) {
  const std::lock_guard lock(pool.lock);
  MemoryStats stats = pool.stats;
  stats.reserved = pool.source->reserved();
  stats.system_requests = pool.source->system_requests();
  return stats;
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

void* allocate(Place place, size_t bytes, MemoryKind kind) {
  Pool& pool = pool_of(place);
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
  if (poison) pool.source->fill(memory, kPoison, bytes);
  return memory;
}

void deallocate(Place place, void* memory, size_t bytes, MemoryKind kind) noexcept {
  Pool& pool = pool_of(place);
  const std::lock_guard lock(pool.lock);
  pool.stats.blocks -= kind != MemoryKind::workspace;
  if (!memory) return;
  if (pool.poison) pool.source->fill(memory, kPoison, bytes);
  pool.stats.total.live -= static_cast<int64_t>(bytes);
  use_of(pool, kind).live -= static_cast<int64_t>(bytes);
  pool.source->deallocate(memory, bytes);
}

void recount(Place place, size_t bytes, MemoryKind from, MemoryKind to) noexcept {
  Pool& pool = pool_of(place);
  const std::lock_guard lock(pool.lock);
  use_of(pool, from).live -= static_cast<int64_t>(bytes);
  add(use_of(pool, to), static_cast<int64_t>(bytes));
}

MemoryStats memory_stats(Device device) { return stats_of(pool_of(device)); }
MemoryStats pinned_memory_stats() {
  if (!cuda_is_available()) return {};
  return stats_of(pool_of({Device::cpu(), true}));
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

void set_pass_through(bool on, Device device) {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  pool.source->set_pass_through(on);
}

void set_poison(bool on, Device device) {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  pool.poison = on;
}

void fail_allocation(int64_t n, bool forever, Device device) {
  check<ValueError>(n >= 0, "fail_allocation: allocation ", n,
                    "; the next one is 1, and 0 stops failing");
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  pool.seen = 0;
  pool.fail_first = n;
  pool.fail_last = forever && n > 0 ? INT64_MAX : n;
}

int64_t allocations_seen(Device device) {
  Pool& pool = pool_of(device);
  const std::lock_guard lock(pool.lock);
  return pool.seen;
}

}  // namespace memory_testing
}  // namespace accrue
