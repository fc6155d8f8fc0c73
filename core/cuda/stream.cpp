// Streams and events as handles, for core/stream.cpp.
#include <array>
#include <mutex>

#include <accrue/core/cuda/backend.h>
#include <accrue/core/cuda/runtime.h>

namespace accrue::cuda {
namespace {

/// A device's further streams, made as they are first handed out. They do not wait for the default
/// stream, and are never destroyed: memory remembers the stream it came from.
struct Streams {
  static constexpr size_t kMost = 32;
  std::mutex lock;
  std::array<cudaStream_t, kMost> made{};
  size_t next = 0;
};

Streams& streams_of(Device device) {
  static std::array<Streams, kMaxDevices> all;
  return all[static_cast<uint8_t>(device.index)];
}

cudaStream_t stream(void* handle) { return static_cast<cudaStream_t>(handle); }
cudaEvent_t event(void* handle) { return static_cast<cudaEvent_t>(handle); }

/// What a query says. CUDA remembers "not ready" like an error, and the next launch would report
/// it.
bool is_ready(cudaError_t answer, const char* op) {
  if (answer == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check_cuda(answer, op);
  return true;
}

}  // namespace

void* make_stream(Device device) {
  Streams& streams = streams_of(device);
  const std::lock_guard lock(streams.lock);
  cudaStream_t& s = streams.made[streams.next];
  if (!s) {
    const DeviceGuard guard(device);
    check_cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
  }
  streams.next = (streams.next + 1) % Streams::kMost;
  return s;
}

void synchronize_stream(Device device, void* handle) {
  const DeviceGuard guard(device);
  check_cuda(cudaStreamSynchronize(stream(handle)), "synchronize");
}

void synchronize_device(Device device) {
  const DeviceGuard guard(device);
  check_cuda(cudaDeviceSynchronize(), "synchronize");
}

bool stream_is_idle(Device device, void* handle) {
  const DeviceGuard guard(device);
  return is_ready(cudaStreamQuery(stream(handle)), "is_idle");
}

void* make_event(Device device) {
  const DeviceGuard guard(device);
  cudaEvent_t made = nullptr;
  check_cuda(cudaEventCreate(&made), "event");
  return made;
}

void destroy_event(Device, void* handle) noexcept { cudaEventDestroy(event(handle)); }

void record_event(Device device, void* handle, void* on) {
  const DeviceGuard guard(device);
  check_cuda(cudaEventRecord(event(handle), stream(on)), "record");
}

void wait_for_event(Device device, void* on, void* handle) {
  const DeviceGuard guard(device);
  check_cuda(cudaStreamWaitEvent(stream(on), event(handle), 0), "wait");
}

void synchronize_event(Device device, void* handle) {
  const DeviceGuard guard(device);
  check_cuda(cudaEventSynchronize(event(handle)), "synchronize");
}

bool event_is_done(Device device, void* handle) {
  const DeviceGuard guard(device);
  return is_ready(cudaEventQuery(event(handle)), "is_done");
}

double elapsed_ms(Device device, void* begin, void* end) {
  const DeviceGuard guard(device);
  float milliseconds = 0;
  check_cuda(cudaEventSynchronize(event(begin)), "elapsed_ms");
  check_cuda(cudaEventSynchronize(event(end)), "elapsed_ms");
  check_cuda(cudaEventElapsedTime(&milliseconds, event(begin), event(end)), "elapsed_ms");
  return static_cast<double>(milliseconds);
}

}  // namespace accrue::cuda
