#include <ostream>

#include <accrue/core/cuda/backend.h>
#include <accrue/core/device.h>
#include <accrue/core/error.h>

namespace accrue {
namespace {
thread_local Device current;
}

Device Device::cuda(int index) {
  check<DeviceError>(cuda_is_built(), "cuda: this build of accrue has no CUDA kernels; ",
                     "use the cpu, or build with ACCRUE_CUDA=ON");
  check<DeviceError>(cuda_is_available(), "cuda: device ", index, " was asked for, and none is ",
                     "usable here: ", describe_cuda(), "; use the cpu");
  check<DeviceError>(index >= 0 && index < cuda_device_count(), "cuda: device ", index,
                     " was asked for; usable here are 0 to ", cuda_device_count() - 1);
  return {DeviceType::cuda, static_cast<int8_t>(index)};
}

Device Device::parse(const std::string& text) {
  if (text == "cpu") return cpu();
  if (text == "cuda") return cuda();
  if (text.size() == 6 && text.starts_with("cuda:") && text[5] >= '0' && text[5] <= '9')
    return cuda(text[5] - '0');
  throw DeviceError("device: '" + text + "' is unknown; it is cpu, cuda or cuda:0 to cuda:9");
}

std::ostream& operator<<(std::ostream& out, Device device) {
  if (device.is_cpu()) return out << "cpu";
  return out << "cuda:" << static_cast<int>(device.index);
}

bool cuda_is_built() { return detail::is_linked(cuda::device_count); }
bool cuda_is_available() { return cuda_device_count() > 0; }
int cuda_device_count() { return cuda_is_built() ? cuda::device_count() : 0; }

std::string describe_cuda(int index) {
  if (!cuda_is_built()) return "this build of accrue has no CUDA kernels";
  if (index >= 0 && index < cuda_device_count()) return cuda::describe(index);
  return cuda::why_no_device();
}

Device default_device() { return current; }
void set_default_device(Device device) { current = device; }

}  // namespace accrue
