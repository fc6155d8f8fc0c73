// Storage: the bytes that tensors share. Views of one tensor hold one Storage, and with it one
// version counter, so that a change through any of them is seen by all.
#pragma once
#include <cstddef>
#include <cstdint>

#include <accrue/core/allocator.h>
#include <accrue/core/ref.h>

namespace accrue {

class Storage final : public RefCounted {
 public:
  /// `pinned`: page-locked memory of the host. Throws OutOfMemory.
  Storage(size_t bytes, Device device, bool pinned = false);
  ~Storage() override;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return place_.device; }
  bool is_pinned() const { return place_.pinned; }
  MemoryKind kind() const { return kind_; }
  /// Counts these bytes under another kind from now on.
  void set_kind(MemoryKind kind);

  /// How often the content was changed in place. A saved tensor compares it.
  uint32_t version() const { return version_; }
  void bump_version() { ++version_; }

  /// Allocations alive in this process; tests use it to show that nothing is left behind.
  static int64_t live() { return memory_stats().blocks; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
  Place place_;
  MemoryKind kind_;
  uint32_t version_ = 0;
};

}  // namespace accrue
