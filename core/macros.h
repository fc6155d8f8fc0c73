// The few macros of accrue. ACCRUE_HD marks a function that also runs on a CUDA device,
// ACCRUE_OPTIONAL one that is there only with the CUDA backend; ACCRUE_ASSERT states an invariant
// of ours (a user's mistake is `check<E>` of error.h instead).
#pragma once

#ifdef __CUDACC__
#define ACCRUE_HD __host__ __device__
#else
#define ACCRUE_HD
#endif

#define ACCRUE_ASSERT(condition) \
  ((condition) ? void() : ::accrue::detail::assertion_failed(#condition, __FILE__, __LINE__))

// A function that a program may lack: without CUDA its address is null. So what calls it is the
// same object file whether a backend is linked to it, or the host executor's, or none. ACCRUE_CUDA:
// this file is of the backend, or must not be linked without it; see cmake/accrue_library.cmake.
#if ACCRUE_CUDA
#define ACCRUE_OPTIONAL
#else
#define ACCRUE_OPTIONAL __attribute__((weak))
#endif

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

/// Whether this program has the function.
template <class R, class... A>
bool is_linked(R (*function)(A...)) {
  return function != nullptr;
}
}  // namespace accrue::detail
