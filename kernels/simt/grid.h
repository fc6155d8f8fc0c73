// Runs a launch: its blocks one after the other, in the order of the schedule. Launches are
// queued by submit() in launch.cpp. Now read: block.h.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include <accrue/kernels/simt/image.h>
#include <accrue/kernels/simt/launch.h>
#include <accrue/kernels/simt/random.h>

namespace accrue::simt {

class Grid {
 public:
  Grid(const Launch& launch, Call& call, int device);

  void run();

  const Launch& launch() const { return launch_; }
  Call& call() const { return call_; }
  int device() const { return device_; }
  uint32_t first_serial() const { return first_serial_; }
  Dice& dice() { return dice_; }
  // Constants that the compiler made for the kernel, readable like its code.
  const Image& image() const { return image_; }
  bool has_argument(const void* pointer) const {
    const auto* begin = static_cast<const char*>(call_.begin());
    return pointer >= begin && pointer < begin + call_.bytes();
  }
  // The index of the block that runs, or ran, under this serial number.
  uint3 block_of(uint32_t serial) const;

 private:
  const Launch& launch_;
  Call& call_;
  int device_;
  Dice dice_;
  const Image& image_;
  size_t blocks_;
  size_t step_ = 1, shift_ = 0;  // the i-th block to run is i * step + shift
  uint32_t first_serial_;
};

// The name of the kernel as the launch spelled it, without the outer brackets.
std::string kernel_name(const Launch& launch);

}  // namespace accrue::simt
