// dispatch(): runs the cpu or the cuda kernel, by where the result lives.
//
// Two backends, both known when accrue is built: an `if`, no registry. A program without CUDA
// kernels has null for their names (ACCRUE_OPTIONAL), so there is nothing to stub.
#pragma once
#include <accrue/kernels/trace.h>

namespace accrue::kernels {

/// `args` are handed to the chosen kernel as they are; Trace hears the views and Dests among them.
template <class Cpu, class Cuda, class... Args>
void dispatch(const char* name, Device device, Cpu cpu, Cuda cuda, const Args&... args) {
  Trace::hear(name, args...);
  if (device.is_cpu()) return cpu(args...);
  if (detail::is_linked(cuda)) return cuda(args...);
  detail::fail<DeviceError>(name, ": a tensor is on ", device,
                            ", but this build has no CUDA kernels");
}

}  // namespace accrue::kernels
