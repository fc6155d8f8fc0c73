// The few macros of accrue. ACCRUE_HD marks a function that also runs on a CUDA device;
// ACCRUE_ASSERT states an invariant of ours (a user's mistake is `check<E>` of error.h instead).
#pragma once

#ifdef __CUDACC__
#define ACCRUE_HD __host__ __device__
#else
#define ACCRUE_HD
#endif

#define ACCRUE_ASSERT(condition) \
  ((condition) ? void() : ::accrue::detail::assertion_failed(#condition, __FILE__, __LINE__))

// Under a sanitizer memory is not recycled behind its back.
#if defined(__SANITIZE_ADDRESS__)
#define ACCRUE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ACCRUE_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef ACCRUE_ADDRESS_SANITIZER
#define ACCRUE_ADDRESS_SANITIZER 0
#endif

namespace accrue::detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}
