// What the kernels' tests share: errors in units of the last place, bits, and random numbers.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/layout.h>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/targets.h>

namespace accrue::testing {

/// |got - right| in units of the last place of a T at `right`; 0 for two NaNs, huge for one.
template <class T>
double ulps(T got, long double right) {
  if (std::isnan(right) || std::isnan(got)) return std::isnan(right) == std::isnan(got) ? 0 : 1e30;
  const auto rounded = static_cast<T>(right);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e30;
  const T size = std::fabs(rounded);
  const T step = size < std::numeric_limits<T>::max()
                     ? std::nextafter(size, std::numeric_limits<T>::infinity()) - size
                     : size - std::nextafter(size, T(0));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - right) / step);
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const auto x = a.to_vector<double>();
  const auto y = b.to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (std::bit_cast<uint64_t>(x[i]) != std::bit_cast<uint64_t>(y[i])) return false;
  }
  return true;
}

inline Tensor random_tensor(const Dims& shape, DType dtype = float32, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (double& v : values) {
    v = normal(random);
    if (!is_floating(dtype)) v = std::round(20 * v);
    if (dtype == uint8) v = std::fabs(v);
  }
  return tensor(values, shape, dtype);
}

/// The same values in other memory: dimensions stored back to front, every second element used.
inline Tensor scattered(const Tensor& x) {
  Dims backwards, order;
  for (int i = x.dim() - 1; i >= 0; --i) {
    backwards.push_back(2 * x.shape()[i]);
    order.push_back(i);
  }
  const Tensor memory = zeros(backwards, x.dtype());
  Layout layout = layout::permute(memory.layout(), order);
  for (int i = 0; i < x.dim(); ++i) {
    layout = layout::slice(layout, i, 0, layout.shape[i], 2);
  }
  Tensor view = memory.alias(layout);
  const auto values = x.to_vector<double>();
  std::vector<int64_t> index(static_cast<size_t>(x.dim()), 0);
  for (const double value : values) {
    int64_t offset = view.layout().offset;
    for (int i = 0; i < x.dim(); ++i) offset += index[static_cast<size_t>(i)] * view.strides()[i];
    visit_any(x.dtype(), [&]<class T>() {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
        memory.data<T>()[offset] = T(static_cast<float>(value));
      } else {
        memory.data<T>()[offset] = static_cast<T>(value);
      }
    });
    for (int i = x.dim() - 1; i >= 0; --i) {
      if (++index[static_cast<size_t>(i)] < x.shape()[i]) break;
      index[static_cast<size_t>(i)] = 0;
    }
  }
  return view;
}

/// Restores threads and instruction set when a test ends.
class Machine {
 public:
  Machine() : threads_(get_num_threads()) {}
  ~Machine() {
    set_num_threads(threads_);
    kernels::cpu::limit_simd_target("");
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

 private:
  int threads_;
};

}  // namespace accrue::testing
