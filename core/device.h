// Device: where a tensor's memory lies and its kernels run.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>

namespace accrue {

enum class DeviceType : uint8_t { cpu, cuda };

/// Aligned, so that it is copied as one 16-bit word, also where it stands beside other bytes.
struct alignas(2) Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = 0;

  static constexpr Device cpu() { return {}; }
  /// Throws DeviceError if this build or this machine has no such device; the text says which.
  static Device cuda(int index = 0);
  /// "cpu", "cuda" or "cuda:1". Throws DeviceError.
  static Device parse(const std::string& text);

  bool is_cpu() const { return type == DeviceType::cpu; }
  friend bool operator==(const Device&, const Device&) = default;
};

std::ostream& operator<<(std::ostream& out, Device device);

/// CUDA devices beyond these are not used.
inline constexpr int kMaxDevices = 16;

/// Whether this build has CUDA kernels.
bool cuda_is_built();
/// Whether this build has CUDA kernels and this machine a device to run them.
bool cuda_is_available();
int cuda_device_count();
/// What the device is, "NVIDIA H200, compute capability 9.0, 139.8 GiB"; or, without a usable one,
/// why: the build, or what CUDA says.
std::string describe_cuda(int index = 0);

/// Where new tensors are made when no device is named: the CPU unless changed for this thread.
Device default_device();
void set_default_device(Device device);

}  // namespace accrue
