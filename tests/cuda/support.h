// What the tests of the CUDA backend share: a device whose every access is checked, and schedules
// that it runs under. A test that ends with a report of the executor has failed.
#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <accrue/core/device.h>
#include <accrue/core/error.h>
#include <accrue/core/stream.h>
#include <accrue/core/transfer.h>

#include <accrue/kernels/simt/control.h>

namespace accrue::testing {

/// The schedules that every test of a kernel runs under: in each of them CUDA's promises hold, and
/// nothing else.
inline const std::vector<simt::Schedule>& schedules() {
  using simt::Order;
  static const std::vector<simt::Schedule> all = {
      {.order = Order::forward},
      {.order = Order::reverse},
      {.order = Order::random, .seed = 7},
      {.order = Order::random, .seed = 11, .lazy = true, .preempt_every = 5, .guard_host = true}};
  return all;
}

using Computation = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// |got - right| is at most `units` times the dtype's last place times the largest |right|.
inline void expect_near(const Tensor& got, const Tensor& right, double units) {
  ASSERT_EQ(got.shape(), right.shape());
  ASSERT_EQ(got.dtype(), right.dtype());
  const std::vector<double> a = got.to_vector<double>(), b = right.to_vector<double>();
  double largest = 0;
  for (double v : b) largest = std::max(largest, std::isfinite(v) ? std::abs(v) : 0.0);
  const double place = got.dtype() == DType::float64    ? 0x1p-52
                       : got.dtype() == DType::float32  ? 0x1p-23
                       : got.dtype() == DType::float16  ? 0x1p-10
                       : got.dtype() == DType::bfloat16 ? 0x1p-7
                                                        : 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), units * place * largest)
        << "element " << i << " of " << right.shape() << ": " << a[i] << ", not " << b[i];
  }
}

class OnExecutor : public ::testing::Test {
 protected:
  OnExecutor() : device(Device::cuda()) {
    simt::reset();
    simt::set_schedule({});
  }
  ~OnExecutor() override {
    try {
      synchronize(device);
    } catch (const Error& error) {  // after a fault every call fails
      ADD_FAILURE() << error.what();
    }
    for (const simt::Report& report : simt::take_reports()) ADD_FAILURE() << report.text;
    simt::set_schedule({});
  }
  /// Calls f under every schedule.
  template <class F>
  void under_every_schedule(F&& f) {
    for (size_t i = 0; i < schedules().size(); ++i) {
      SCOPED_TRACE("schedule " + std::to_string(i));
      synchronize(device);
      simt::set_schedule(schedules()[i]);
      f();
    }
    simt::set_schedule({});
  }

  /// f(inputs) makes the results with kernels, on the device of the inputs, in fresh memory. On
  /// device cuda they are, under every schedule, those of the CPU to `units` in the last place of
  /// the largest element; 0 for the same bits.
  void expect_as_on_cpu(const std::vector<Tensor>& inputs, const Computation& f, double units = 0) {
    const std::vector<Tensor> right = f(inputs);
    under_every_schedule([&] {
      std::vector<Tensor> there;
      for (const Tensor& x : inputs) there.push_back(x.defined() ? to_device(x, device) : x);
      const std::vector<Tensor> got = f(there);
      ASSERT_EQ(got.size(), right.size());
      for (size_t i = 0; i < got.size(); ++i) {
        SCOPED_TRACE("result " + std::to_string(i));
        expect_near(got[i], right[i], units);
      }
    });
  }

  Device device;
};

}  // namespace accrue::testing
