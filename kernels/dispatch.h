// dispatch(): runs the cpu or the cuda kernel, by where the result lives.
//
// Two backends, both known when accrue is built: an `if`, no registry. In a CPU-only build the
// cuda names are never mentioned, so there is nothing to stub.
#pragma once
#include <type_traits>

#include <accrue/kernels/trace.h>

#if ACCRUE_CUDA
#define ACCRUE_BACKENDS(kernel) cpu::kernel, cuda::kernel
#else
#define ACCRUE_BACKENDS(kernel) cpu::kernel, nullptr
#endif

namespace accrue::kernels {

/// `args` are handed to the chosen kernel as they are; Trace hears the views and Dests among them.
template <class Cpu, class Cuda, class... Args>
void dispatch(const char* name, Device device, Cpu cpu, Cuda cuda, const Args&... args) {
  Trace::hear(name, args...);
  if (device.is_cpu()) return cpu(args...);
  if constexpr (!std::is_same_v<Cuda, std::nullptr_t>) return cuda(args...);
  detail::fail<DeviceError>(name, ": a tensor is on ", device,
                            ", but this build has no CUDA kernels");
}

}  // namespace accrue::kernels
