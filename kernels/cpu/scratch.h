// Scratch: a Workspace that a thread keeps from call to call, so that a kernel takes and returns
// pieces of it at no cost. It is counted under MemoryKind::workspace, at its largest.
#pragma once
#include <cstddef>

namespace accrue::kernels::cpu {

// Lends `bytes` of 64-byte aligned, uninitialised memory until its destruction. Scratches of one
// thread nest: the last taken is the first returned.
class Scratch {
 public:
  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  size_t mark_;
};

}  // namespace accrue::kernels::cpu
