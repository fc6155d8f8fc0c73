// The arithmetic of windows, which both backends of pooling share: what a window covers, and which
// windows may cover an element. In one direction each; d is 0 for rows and 1 for columns.
#pragma once
#include <algorithm>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/pool.h>

namespace accrue::kernels {

/// What one window covers: positions begin, begin + step, … < end inside the image.
struct Span {
  int64_t begin, end, step;
  int64_t padded;  ///< how many of them and of the padding, as a mean may count
};
ACCRUE_HD inline Span span_of(const PoolParams& p, size_t d, int64_t in, int64_t out) {
  const int64_t step = p.dilation[d], start = out * p.stride[d] - p.padding[d];
  const int64_t end = start + (p.kernel[d] - 1) * step + 1;
  const int64_t skipped = start < 0 ? cpu::ceil_div(-start, step) : 0;
  return {start + skipped * step, std::min(end, in), step,
          std::min(end, in + p.padding[d]) - start};
}

/// a / b for a ≥ 0 and b > 0. A GPU divides numbers of 32 bits in a fraction of the time.
ACCRUE_HD inline int64_t quotient(int64_t a, int64_t b) {
  return (a | b) >> 32 == 0 ? static_cast<uint32_t>(a) / static_cast<uint32_t>(b) : a / b;
}

/// Windows [begin, end) of `count`: those whose first and last element lie around position `at`. A
/// dilated one may jump over it.
struct Windows {
  int64_t begin, end;
};
ACCRUE_HD inline Windows windows_around(const PoolParams& p, size_t d, int64_t at, int64_t count) {
  const int64_t stride = p.stride[d], last = at + p.padding[d];
  const int64_t behind = last - (p.kernel[d] - 1) * p.dilation[d];
  return {behind > 0 ? quotient(behind + stride - 1, stride) : 0,
          std::min(quotient(last, stride) + 1, count)};
}

/// What a mean over a window is divided by.
template <class T>
ACCRUE_HD T divisor_of(const PoolParams& p, const Span& rows, const Span& cols) {
  if (p.divisor_override != 0) return static_cast<T>(p.divisor_override);
  if (p.count_include_pad) return static_cast<T>(rows.padded * cols.padded);
  return static_cast<T>((rows.end - rows.begin) * (cols.end - cols.begin));
}

}  // namespace accrue::kernels
