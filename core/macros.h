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

namespace accrue::detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}
