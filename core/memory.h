// Memory as a user sees it: how much is in use and for what, a limit, and what tests need.
//
// Every tensor's bytes pass through allocator.h, which keeps these numbers. They count the bytes
// asked for, so they depend on the program and not on the allocator's rounding.
#pragma once
#include <array>
#include <cstdint>

#include <accrue/core/device.h>

namespace accrue {

/// What memory is for. New memory is `activation` unless a MemoryKindGuard says otherwise.
enum class MemoryKind : uint8_t { activation, parameter, gradient, optimizer, workspace };
inline constexpr int kMemoryKinds = 5;
const char* name_of(MemoryKind kind);

struct MemoryUse {
  int64_t live = 0;   ///< bytes in use now
  int64_t peak = 0;   ///< the most bytes in use at once since the last reset_peak_memory_stats()
  int64_t count = 0;  ///< allocations so far
};

struct MemoryStats {
  MemoryUse total;
  std::array<MemoryUse, kMemoryKinds> by_kind;
  int64_t blocks = 0;           ///< tensors' allocations that live now, empty ones included
  int64_t reserved = 0;         ///< bytes held from the system, in use or not
  int64_t system_requests = 0;  ///< how often the system was asked for more

  const MemoryUse& of(MemoryKind kind) const { return by_kind[static_cast<size_t>(kind)]; }
};

MemoryStats memory_stats(Device device = {});
/// The same of the host's page-locked memory, see pin_memory() in transfer.h.
MemoryStats pinned_memory_stats();
/// Lets every peak start again from what is live now.
void reset_peak_memory_stats(Device device = {});

/// The most bytes that may be live on a device; 0 takes the limit away. An allocation that would
/// pass it throws OutOfMemory and changes nothing. Throws ValueError for a negative limit.
void set_memory_limit(int64_t bytes, Device device = {});
int64_t memory_limit(Device device = {});

/// Gives free regions back to the system. Never called by accrue itself.
void release_cached_memory(Device device = {});

/// While it lives, new memory of this thread is counted under `kind`.
class MemoryKindGuard {
 public:
  explicit MemoryKindGuard(MemoryKind kind);
  ~MemoryKindGuard();
  MemoryKindGuard(const MemoryKindGuard&) = delete;
  MemoryKindGuard& operator=(const MemoryKindGuard&) = delete;

 private:
  MemoryKind before_;
};

/// Seams for tests. They may change at any time.
namespace memory_testing {
/// Ask the system for every block, so that a sanitizer sees each one's edges. On from the start
/// under AddressSanitizer, on the CPU.
void set_pass_through(bool on, Device device = {});
/// Fill fresh and freed memory with bytes 0xff, NaN in every floating type. On from the start in
/// builds with assertions (without NDEBUG), on the CPU.
void set_poison(bool on, Device device = {});
/// The n-th allocation from now (1 is the next) throws OutOfMemory; with `forever`, all later ones
/// too. n = 0 stops failing.
void fail_allocation(int64_t n, bool forever = false, Device device = {});
/// Allocations seen since the last fail_allocation().
int64_t allocations_seen(Device device = {});
}  // namespace memory_testing

}  // namespace accrue
