// Storage: the bytes that tensors share. Views of one tensor hold one Storage, and with it one
// version counter, so that a change through any of them is seen by all.
#pragma once
#include <cstddef>
#include <cstdint>

#include <accrue/core/memory.h>
#include <accrue/core/ref.h>

namespace accrue {

class Storage final : public RefCounted {
 public:
  /// Throws OutOfMemory.
  Storage(size_t bytes, Device device);
  ~Storage() override;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
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
  Device device_;
  MemoryKind kind_;
  uint32_t version_ = 0;
};

}  // namespace accrue
