// What the parts of the executor share: one mutex, the schedule, and for each device its streams,
// its peers and the error that it died of. Now read: grid.h for kernels, stream.h for the order of
// work, runtime_device.cpp for the first of the CUDA functions.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>

#include <cuda_runtime.h>

#include <accrue/kernels/simt/control.h>
#include <accrue/kernels/simt/memory.h>

namespace accrue::simt {

struct DeviceState {
  cudaError_t failure = cudaSuccess;  // sticky: every later call returns it
  bool can_reach[kDevices] = {};      // peers whose memory its kernels may use
  uint64_t pool_threshold = 0;
};

struct Executor {
  Schedule schedule;
  Counts counts;
  uint64_t patience = uint64_t{1} << 28;

  DeviceState& device(int number) { return devices_[static_cast<size_t>(number)]; }

 private:
  std::array<DeviceState, kDevices> devices_{};
};
Executor& executor();

// Held during every call: host threads take turns.
class Entered {
 public:
  Entered();
  ~Entered();
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
};

// The device of this host thread, cudaSetDevice()'s.
int current_device();
void set_current_device(int device);

// Remembers an error for cudaGetLastError() of this host thread, and returns it.
cudaError_t fail(cudaError_t error);
// What a call that went well returns: the failure of the current device, if it has died.
cudaError_t outcome();
// Reports a call that CUDA or cuBLAS would refuse.
void report_call(const std::string& call, const std::string& what, const std::string& right);
// The same, and fails with the error.
cudaError_t refuse(const std::string& call, const std::string& what, const std::string& right,
                   cudaError_t error = cudaErrorInvalidValue);
// The same for something the device met on its own: it dies of the error.
void fail_device(int device, cudaError_t error);

// Host code that nobody instruments touches guarded device memory: says so, and ends the program.
void catch_host_access();

}  // namespace accrue::simt
