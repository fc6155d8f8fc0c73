// What the tests of the executor share: a clean executor, the schedules, buffers on the device.
#pragma once
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <accrue/kernels/simt/control.h>

struct NamedSchedule {
  const char* name;
  accrue::simt::Schedule schedule;
  friend std::ostream& operator<<(std::ostream& out, const NamedSchedule& named) {
    return out << named.name;
  }
};
inline std::vector<NamedSchedule> all_schedules() {
  using accrue::simt::Order;
  return {{"forward", {}},
          {"reverse", {.order = Order::reverse}},
          {"random", {.order = Order::random, .seed = 7}},
          {"random2", {.order = Order::random, .seed = 8}},
          {"lazy", {.order = Order::random, .seed = 9, .lazy = true}},
          {"preempting", {.order = Order::random, .seed = 10, .preempt_every = 3}}};
}

// Every test begins and ends with an executor that found nothing.
class SimtTest : public testing::Test {
 protected:
  void SetUp() override {
    accrue::simt::reset();
    accrue::simt::set_schedule({});
    accrue::simt::set_echo(false);
    cudaSetDevice(0);
  }
  void TearDown() override {
    for (const auto& report : accrue::simt::take_reports()) ADD_FAILURE() << report.text;
    accrue::simt::reset();
    accrue::simt::set_schedule({});
    cudaSetDevice(0);
  }
};

// Device memory that holds the values, or nothing yet.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(size_t n) : n_(n) { cudaMalloc(&data_, n * sizeof(T)); }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    cudaMemcpy(data_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* data() const { return data_; }
  std::vector<T> get() const {
    std::vector<T> values(n_);
    cudaDeviceSynchronize();
    cudaMemcpy(values.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t n_;
};

// Numbers without a pattern, between -5 and 10.
inline std::vector<float> some_floats(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i * 37 % 101) / 7 - 5;
  return values;
}
