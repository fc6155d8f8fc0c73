// What `g++ -fsanitize=thread` calls before every load and store. Kernel files are compiled with
// it and linked without the sanitizer's own library: the calls end here. (The Linux kernel checks
// itself in the same way.) Atomics of the C++ library, which only host code uses, pass unchecked.
#include <cstdint>
#include <cstring>

#include <accrue/kernels/simt/access.h>

namespace {
using accrue::simt::check_access;
using accrue::simt::check_aligned_access;
using accrue::simt::Kind;
}  // namespace

// The return address must be taken in the function that the kernel calls.
#define ACCRUE_PC __builtin_return_address(0)
#define ACCRUE_HOOK(bytes)                                                                        \
  void __tsan_read##bytes(void* p) { check_aligned_access({p, bytes, Kind::read, ACCRUE_PC}); }   \
  void __tsan_write##bytes(void* p) { check_aligned_access({p, bytes, Kind::write, ACCRUE_PC}); } \
  void __tsan_volatile_read##bytes(void* p) {                                                     \
    check_aligned_access({p, bytes, Kind::read, ACCRUE_PC});                                      \
  }                                                                                               \
  void __tsan_volatile_write##bytes(void* p) {                                                    \
    check_aligned_access({p, bytes, Kind::write, ACCRUE_PC});                                     \
  }                                                                                               \
  void __tsan_unaligned_read##bytes(void* p) { check_access({p, bytes, Kind::read, ACCRUE_PC}); } \
  void __tsan_unaligned_write##bytes(void* p) { check_access({p, bytes, Kind::write, ACCRUE_PC}); }

#define ACCRUE_ATOMICS(bits)                                                                       \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* p, int) {               \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* p, uint##bits##_t v, int) {            \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t* p, uint##bits##_t v,      \
                                                int) {                                             \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                \
  uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile uint##bits##_t* p, uint##bits##_t v,     \
                                                 int) {                                            \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile uint##bits##_t* p, uint##bits##_t v,     \
                                                 int) {                                            \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(                                               \
      volatile uint##bits##_t* p, uint##bits##_t* expected, uint##bits##_t v, int, int) {          \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

ACCRUE_HOOK(1)
ACCRUE_HOOK(2)
ACCRUE_HOOK(4)
ACCRUE_HOOK(8)
ACCRUE_HOOK(16)

void __tsan_read_range(void* p, size_t bytes) {
  if (bytes != 0) check_access({p, bytes, Kind::read, ACCRUE_PC});
}
void __tsan_write_range(void* p, size_t bytes) {
  if (bytes != 0) check_access({p, bytes, Kind::write, ACCRUE_PC});
}
void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  if (bytes != 0) check_access({from, bytes, Kind::read, ACCRUE_PC});
  if (bytes != 0) check_access({to, bytes, Kind::write, ACCRUE_PC});
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  if (bytes != 0) check_access({from, bytes, Kind::read, ACCRUE_PC});
  if (bytes != 0) check_access({to, bytes, Kind::write, ACCRUE_PC});
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, size_t bytes) {
  if (bytes != 0) check_access({to, bytes, Kind::write, ACCRUE_PC});
  return std::memset(to, value, bytes);
}

ACCRUE_ATOMICS(8)
ACCRUE_ATOMICS(32)
ACCRUE_ATOMICS(64)

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
