// Workspace: scratch memory for the length of a scope, given to kernels that need some.
#pragma once
#include <accrue/core/allocator.h>

namespace accrue {

class Workspace {
 public:
  /// Uninitialised, aligned to 64. Throws OutOfMemory.
  explicit Workspace(size_t bytes, Device device = Device::cpu())
      : data_(allocate(device, bytes, MemoryKind::workspace)), bytes_(bytes), device_(device) {}
  ~Workspace() { deallocate(device_, data_, bytes_, MemoryKind::workspace); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  size_t bytes_;
  Device device_;
};

}  // namespace accrue
