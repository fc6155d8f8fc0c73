#include <thread>

#include <gtest/gtest.h>

#include <accrue/core/device.h>
#include <accrue/core/error.h>
#include <accrue/core/tensor.h>

namespace accrue {
namespace {

TEST(Device, ParsesAndPrints) {
  EXPECT_EQ(Device::parse("cpu"), Device::cpu());
  EXPECT_EQ(detail::concat(Device::cpu()), "cpu");
  EXPECT_EQ(detail::concat(Device{DeviceType::cuda, 1}), "cuda:1");
  for (const char* text : {"", "CPU", "gpu", "cuda:", "cuda:x", "cuda:12", "cpu:0"})
    EXPECT_THROW(Device::parse(text), DeviceError) << text;
}

TEST(Device, AnAbsentCudaDeviceIsAnErrorThatSaysWhy) {
  if (cuda_is_available()) GTEST_SKIP() << "this machine has a CUDA device";
  try {
    Device::cuda();
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("cuda"), std::string::npos);
  }
  EXPECT_THROW(Device::parse("cuda:0"), DeviceError);
  EXPECT_THROW(Tensor::empty({1}, float32, Device{DeviceType::cuda, 0}), DeviceError);
  EXPECT_EQ(cuda_device_count(), 0);
}

TEST(Device, TheDefaultBelongsToTheThread) {
  EXPECT_EQ(default_device(), Device::cpu());
  set_default_device(Device{DeviceType::cuda, 3});
  std::thread([] { EXPECT_EQ(default_device(), Device::cpu()); }).join();
  EXPECT_EQ(default_device().index, 3);
  set_default_device(Device::cpu());
}

}  // namespace
}  // namespace accrue
