#include <algorithm>
#include <iomanip>
#include <sstream>

#include <accrue/core/cuda/backend.h>
#include <accrue/core/cuda/runtime.h>
#include <accrue/core/error.h>
#include <accrue/core/stream.h>

namespace accrue::cuda {
namespace {

/// The devices there are. Without a driver, or with one too old, the call fails, each time anew and
/// with different errors; any error means none.
struct Devices {
  int count = 0;
  cudaError_t error = cudaSuccess;

  Devices() {
    error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
      count = 0;
      cudaGetLastError();  // the next launch should not report this one
    }
    count = std::min(count, kMaxDevices);
  }
};

const Devices& devices() {
  static const Devices found;
  return found;
}

}  // namespace

int device_count() noexcept { return devices().count; }

std::string why_no_device() {
  if (devices().count > 0) return "";
  if (devices().error == cudaSuccess) return "CUDA finds no device";
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    cudaGetLastError();
    return "no NVIDIA driver is installed";
  }
  return detail::concat("CUDA says: ", cudaGetErrorString(devices().error), " (",
                        cudaGetErrorName(devices().error), ")");
}

std::string describe(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "describe");
  std::ostringstream out;
  out << properties.name << ", compute capability " << properties.major << '.' << properties.minor
      << ", " << std::fixed << std::setprecision(1)
      << static_cast<double>(properties.totalGlobalMem) / 0x1p30 << " GiB";
  return out.str();
}

void check_cuda(cudaError_t error, const char* op) {
  if (error == cudaSuccess) [[likely]]
    return;
  cudaGetLastError();
  const std::string text = detail::concat(op, ": CUDA failed: ", cudaGetErrorString(error), " (",
                                          cudaGetErrorName(error), ")");
  if (error == cudaErrorMemoryAllocation)
    throw OutOfMemory(text + "; use smaller micro-batches with more accumulation steps");
  throw CudaError(text);
}

DeviceGuard::DeviceGuard(Device device) : now_(device.index) {
  check_cuda(cudaGetDevice(&before_), "device");
  if (before_ != now_) check_cuda(cudaSetDevice(now_), "device");
}

DeviceGuard::~DeviceGuard() {
  if (before_ != now_) cudaSetDevice(before_);
}

cudaStream_t stream_of(Device device) {
  return static_cast<cudaStream_t>(current_stream(device).handle());
}

}  // namespace accrue::cuda
