// Copies that involve a device. Each goes to the current stream of the device it writes to, or,
// towards the host, of the one it reads from.
#include <accrue/core/cuda/backend.h>
#include <accrue/core/cuda/runtime.h>

namespace accrue::cuda {
namespace {

class ScopedEvent {
 public:
  explicit ScopedEvent(Device device) : device_(device) {
    const DeviceGuard guard(device_);
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "copy");
  }
  ~ScopedEvent() { cudaEventDestroy(event_); }
  ScopedEvent(const ScopedEvent&) = delete;
  ScopedEvent& operator=(const ScopedEvent&) = delete;

  void record() {
    const DeviceGuard guard(device_);
    check_cuda(cudaEventRecord(event_, stream_of(device_)), "copy");
  }
  /// The current stream of `device` goes on after the event.
  void hold_up(Device device) {
    const DeviceGuard guard(device);
    check_cuda(cudaStreamWaitEvent(stream_of(device), event_, 0), "copy");
  }

 private:
  Device device_;
  cudaEvent_t event_ = nullptr;
};

/// After what wrote `from`; and what comes after on its device, such as its release, waits in turn.
void copy_to_peer(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  ScopedEvent written(from_device);
  written.record();
  written.hold_up(to_device);
  {
    const DeviceGuard guard(to_device);
    check_cuda(cudaMemcpyPeerAsync(to, to_device.index, from, from_device.index, bytes,
                                   stream_of(to_device)),
               "copy");
  }
  ScopedEvent read(to_device);
  read.record();
  read.hold_up(from_device);
}

}  // namespace

void copy(void* to, Device to_device, const void* from, Device from_device, size_t bytes,
          bool asynchronous) {
  if (bytes == 0) return;
  if (!to_device.is_cpu() && !from_device.is_cpu() && to_device != from_device)
    return copy_to_peer(to, to_device, from, from_device, bytes);
  const Device device = to_device.is_cpu() ? from_device : to_device;
  const DeviceGuard guard(device);
  cudaStream_t stream = stream_of(device);
  const cudaMemcpyKind kind = to_device.is_cpu()     ? cudaMemcpyDeviceToHost
                              : from_device.is_cpu() ? cudaMemcpyHostToDevice
                                                     : cudaMemcpyDeviceToDevice;
  check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "copy");
  if (kind != cudaMemcpyDeviceToDevice && !asynchronous)
    check_cuda(cudaStreamSynchronize(stream), "copy");
}

void fill_bytes(void* to, Device device, int byte, size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(device);
  check_cuda(cudaMemsetAsync(to, byte, bytes, stream_of(device)), "fill");
}

}  // namespace accrue::cuda
