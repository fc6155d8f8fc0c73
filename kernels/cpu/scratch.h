// Workspace of one kernel call on one thread: aligned memory that is kept from call to call, so
// that taking it does not reach the system.
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
