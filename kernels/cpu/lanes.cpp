// The vector loops of lanes.h, for every target of targets.h.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <accrue/kernels/cpu/lanes.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;
constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(Doubles()));

HWY_INLINE hn::Vec<Doubles> load_double(const double* x) { return hn::LoadU(Doubles(), x); }
HWY_INLINE hn::Vec<Doubles> load_double(const float* x) {
  return hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), x));
}

template <class T>
HWY_INLINE void to_lanes(const T* x, int64_t n, double* lanes) {
  constexpr int64_t kSums = kLanes / kWidth;
  const Doubles d;
  for (int64_t s = 0; s < kSums; s += 2) {  // two vectors at a time stay in registers
    auto even = hn::LoadU(d, lanes + s * kWidth);
    auto odd = hn::LoadU(d, lanes + (s + 1) * kWidth);
    for (int64_t i = s * kWidth; i < n; i += kLanes) {
      even = hn::Add(even, load_double(x + i));
      odd = hn::Add(odd, load_double(x + i + kWidth));
    }
    hn::StoreU(even, d, lanes + s * kWidth);
    hn::StoreU(odd, d, lanes + (s + 1) * kWidth);
  }
}

template <class T>
HWY_INLINE void rows_to_lanes(const T* x, int64_t row_stride, int64_t rows, int64_t cols,
                              int64_t at, double* lanes) {
  const Doubles d;
  for (int64_t r = 0; r < rows; ++r, x += row_stride) {
    double* const sums = lanes + (at + r) % kLanes * cols;
    int64_t c = 0;
    for (; c + kWidth <= cols; c += kWidth) {
      hn::StoreU(hn::Add(hn::LoadU(d, sums + c), load_double(x + c)), d, sums + c);
    }
    for (; c < cols; ++c) sums[c] += static_cast<double>(x[c]);
  }
}

void floats(const float* x, int64_t n, double* lanes) { to_lanes(x, n, lanes); }
void doubles(const double* x, int64_t n, double* lanes) { to_lanes(x, n, lanes); }
void float_rows(const float* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t at,
                double* lanes) {
  rows_to_lanes(x, row_stride, rows, cols, at, lanes);
}
void double_rows(const double* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t at,
                 double* lanes) {
  rows_to_lanes(x, row_stride, rows, cols, at, lanes);
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {
HWY_EXPORT(floats);
HWY_EXPORT(doubles);
HWY_EXPORT(float_rows);
HWY_EXPORT(double_rows);

void add_to_lanes(const float* x, int64_t n, double* lanes) {
  HWY_DYNAMIC_DISPATCH(floats)(x, n, lanes);
}
void add_to_lanes(const double* x, int64_t n, double* lanes) {
  HWY_DYNAMIC_DISPATCH(doubles)(x, n, lanes);
}
void add_to_lanes(const int64_t* x, int64_t n, int64_t* lanes) {
  for (int64_t i = 0; i < n; ++i) lanes[i % kLanes] += x[i];
}

void add_rows_to_lanes(const float* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t at,
                       double* lanes) {
  HWY_DYNAMIC_DISPATCH(float_rows)(x, row_stride, rows, cols, at, lanes);
}
void add_rows_to_lanes(const double* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t at,
                       double* lanes) {
  HWY_DYNAMIC_DISPATCH(double_rows)(x, row_stride, rows, cols, at, lanes);
}
void add_rows_to_lanes(const int64_t* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t at,
                       int64_t* lanes) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) lanes[(at + r) % kLanes * cols + c] += x[r * row_stride + c];
  }
}

}  // namespace accrue::kernels::cpu
#endif
