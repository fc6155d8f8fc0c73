// What the address sanitizer is told about the stack of a fiber: where it lies, and when a host
// thread leaves one for another. An empty class in builds without that sanitizer.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

namespace accrue::simt {

class SanitizedStack {
 public:
  void begin(const void* bottom, size_t bytes) {
    bottom_ = bottom;
    bytes_ = bytes;
    fake_ = nullptr;
  }
  // Before a switch; arrive() comes first after it, on the other side.
  void leave_for(SanitizedStack& next) {
    left = this;
    reached = &next;
    __sanitizer_start_switch_fiber(&fake_, next.bottom_, next.bytes_);
  }
  // Also learns where the stack of the host thread lies, which was left.
  static void arrive() {
    __sanitizer_finish_switch_fiber(reached->fake_, &left->bottom_, &left->bytes_);
  }
  // Whoever was on the stack will not come back.
  void abandon() const { __asan_unpoison_memory_region(bottom_, bytes_); }

 private:
  static inline thread_local SanitizedStack* left = nullptr;
  static inline thread_local SanitizedStack* reached = nullptr;
  const void* bottom_ = nullptr;
  size_t bytes_ = 0;
  void* fake_ = nullptr;
};

}  // namespace accrue::simt

#else

namespace accrue::simt {

class SanitizedStack {
 public:
  void begin(const void*, size_t) {}
  void leave_for(SanitizedStack&) {}
  static void arrive() {}
  void abandon() const {}
};

}  // namespace accrue::simt

#endif
