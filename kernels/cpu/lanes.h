// Lanes: sixteen sums side by side, which together are one long sum in an order that vector
// instructions like. An element goes to the lane of its position modulo sixteen.
#pragma once
#include <cstdint>
#include <type_traits>

namespace accrue::kernels::cpu {

inline constexpr int64_t kLanes = 16;

/// lanes[i % 16] += x[i] for i < n, n a multiple of 16.
void add_to_lanes(const float* x, int64_t n, double* lanes);
void add_to_lanes(const double* x, int64_t n, double* lanes);
void add_to_lanes(const int64_t* x, int64_t n, int64_t* lanes);

/// The same for `cols` sums at once: lanes[(at + r) % 16][c] += x[r * row_stride + c].
void add_rows_to_lanes(const float* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t at,
                       double* lanes);
void add_rows_to_lanes(const double* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t at,
                       double* lanes);
void add_rows_to_lanes(const int64_t* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t at,
                       int64_t* lanes);

/// The sum of sixteen lanes that lie `stride` apart: neighbours first.
template <class Sum>
Sum total_of_lanes(const Sum* lanes, int64_t stride = 1) {
  Sum sums[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) sums[i] = lanes[i * stride];
  for (int64_t n = kLanes; n > 1; n /= 2) {
    for (int64_t i = 0; i < n / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
  }
  return sums[0];
}

template <class Sum>
class Lanes {
 public:
  template <class T>
  void add(const T* x, int64_t n) {
    int64_t i = 0;
    for (; i < n && at_ % kLanes != 0; ++i) lane_[at_++ % kLanes] += static_cast<Sum>(x[i]);
    const int64_t whole = (n - i) / kLanes * kLanes;
    if (whole > 0) add_to_lanes(x + i, whole, lane_);
    for (i += whole; i < n; ++i) lane_[at_++ % kLanes] += static_cast<Sum>(x[i]);
  }
  Sum total() const { return total_of_lanes(lane_); }

 private:
  Sum lane_[kLanes] = {};
  int64_t at_ = 0;
};

/// What numbers computed in C are summed in.
template <class C>
using SumOf = std::conditional_t<std::is_integral_v<C>, int64_t, double>;

}  // namespace accrue::kernels::cpu
