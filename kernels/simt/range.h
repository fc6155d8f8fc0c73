// A range of device memory that somebody other than a kernel uses whole: a copy, a fill, a column
// of a matrix that cuBLAS reads. Now read: runtime_copy.cpp, gemm.cpp.
#pragma once
#include <cstddef>

namespace accrue::simt {

struct Range {
  const char* call;  // for reports: who uses it, and what for
  const char* role;
  const void* begin;
  size_t bytes;
  int device;  // that uses it
};

// Whether it lies in one live allocation that the device may use, or any device if `everywhere`.
// Reports it if not, and the device dies of it.
bool check_range(const Range& range, bool everywhere = false);

// Whether every byte has been written, reported if not. REQUIRES: check_range() was content.
bool check_written(const Range& range);

}  // namespace accrue::simt
