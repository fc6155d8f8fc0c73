// What the tests of the CUDA backend share: a device whose every access is checked, and schedules
// that it runs under. A test that ends with a report of the executor has failed.
#pragma once
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <accrue/core/device.h>
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

class OnExecutor : public ::testing::Test {
 protected:
  OnExecutor() : device(Device::cuda()) {
    simt::reset();
    simt::set_schedule({});
  }
  ~OnExecutor() override {
    synchronize(device);
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

  Device device;
};

}  // namespace accrue::testing
