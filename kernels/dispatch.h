// dispatch(): runs the cpu or the cuda kernel, by where the result lives.
//
// Two backends, both known when accrue is built: an `if`, no registry. A program without CUDA
// kernels has null for their names (ACCRUE_OPTIONAL), so there is nothing to stub.
#pragma once
#include <span>
#include <tuple>

#include <accrue/kernels/trace.h>

namespace accrue::detail {

// Everything a kernel is given lies where it runs. Absent operands lie nowhere.
inline void check_device(const char* name, Device device, const void* data, Device other) {
  check<DeviceError>(other == device || !data, name, ": the tensors are on ", device, " and ",
                     other, "; all must be on one device");
}
inline void check_device(const char* name, Device device, const ConstView& x) {
  check_device(name, device, x.data, x.device);
}
inline void check_device(const char* name, Device device, const Dest& y) {
  check_device(name, device, y.view.data, y.view.device);
}
template <class Other>
void check_device(const char*, Device, const Other&) {}
template <HasOperands Several>
void check_device(const char* name, Device device, const Several& x) {
  std::apply([&](const auto&... each) { (check_device(name, device, each), ...); }, x.operands());
}
template <class Each>
void check_device(const char* name, Device device, const std::span<const Each>& list) {
  for (const Each& x : list) check_device(name, device, x);
}

}  // namespace accrue::detail

namespace accrue::kernels {

/// `args` are handed to the chosen kernel as they are; Trace hears the views and Dests among them.
/// Throws DeviceError unless they are on one device, and that device has kernels.
template <class Cpu, class Cuda, class... Args>
void dispatch(const char* name, Device device, Cpu cpu, Cuda cuda, const Args&... args) {
  (detail::check_device(name, device, args), ...);
  Trace::hear(name, args...);
  if (device.is_cpu()) return cpu(args...);
  if (detail::is_linked(cuda)) return cuda(args...);
  detail::fail<DeviceError>(name, ": a tensor is on ", device,
                            ", but this build has no CUDA kernels");
}

}  // namespace accrue::kernels
