// Every load and store of a kernel comes here, by way of the compiler's hooks (hooks.cpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include <accrue/kernels/simt/race.h>

namespace accrue::simt {

// Checks one access of the code that runs now: address, state of the bytes, device, races. One
// that the device could not make ends the launch. Host code may touch anything but device memory.
void check_access(const Access& access);

// The same for an object whose type is aligned to its size, a power of two.
void check_aligned_access(const Access& access);

// Reports an address that is no multiple of `alignment`. The caller ends the launch, if there is
// one, when its strings are gone: nothing that is on a fiber's stack then is ever destroyed.
void report_misaligned(const void* pointer, size_t alignment, const std::string& what,
                       const std::string& where, uint64_t key);

}  // namespace accrue::simt
