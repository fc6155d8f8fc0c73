// Where the bytes come from. An Allocator knows one device; allocate()/deallocate() below add the
// statistics, the limit and the test seams of memory.h, and are what Storage calls.
#pragma once
#include <cstddef>

#include <accrue/core/memory.h>

namespace accrue {

class Allocator {
 public:
  virtual ~Allocator() = default;
  /// `bytes` > 0, aligned to 64. Throws OutOfMemory.
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void* memory, size_t bytes) noexcept = 0;
};

/// Null for zero bytes.
void* allocate(Device device, size_t bytes, MemoryKind kind);
void deallocate(Device device, void* memory, size_t bytes, MemoryKind kind) noexcept;
/// Counts live memory under another kind from now on.
void recount(Device device, size_t bytes, MemoryKind from, MemoryKind to) noexcept;
/// The kind that new memory of this thread has.
MemoryKind current_memory_kind();

}  // namespace accrue
