// Where the bytes come from. An Allocator knows one device; allocate()/deallocate() below add the
// statistics, the limit and the test seams of memory.h, and are what Storage calls.
#pragma once
#include <cstddef>
#include <cstring>

#include <accrue/core/memory.h>

namespace accrue {

/// Calls come one at a time: the caller holds the device's lock.
class Allocator {
 public:
  /// `bytes` > 0, aligned to 64. Null if the system has no more.
  virtual void* allocate(size_t bytes) noexcept = 0;
  /// `bytes` as they were asked for.
  virtual void deallocate(void* memory, size_t bytes) noexcept = 0;
  virtual void release_cached() noexcept = 0;
  /// Ask the system for every block from now on; blocks of before may still come back.
  virtual void set_pass_through(bool on) noexcept = 0;
  /// Bytes held from the system, in use or not.
  virtual int64_t reserved() const noexcept = 0;
  virtual int64_t system_requests() const noexcept = 0;
  /// Every byte becomes `byte`.
  virtual void fill(void* memory, int byte, size_t bytes) noexcept {
    std::memset(memory, byte, bytes);
  }

 protected:
  ~Allocator() = default;  // lives as long as the process: tensors in static storage die last
};

/// Where bytes are asked for: a device, or memory of the host that CUDA copies without a detour.
struct Place {
  Device device;
  bool pinned = false;
  Place(Device where = {}, bool is_pinned = false) : device(where), pinned(is_pinned) {}
};

/// Null for zero bytes. Throws OutOfMemory, and then has changed nothing.
void* allocate(Place place, size_t bytes, MemoryKind kind);
void deallocate(Place place, void* memory, size_t bytes, MemoryKind kind) noexcept;
/// Counts live memory under another kind from now on.
void recount(Place place, size_t bytes, MemoryKind from, MemoryKind to) noexcept;
/// The kind that new memory of this thread has.
MemoryKind current_memory_kind();

}  // namespace accrue
