// What core asks of the CUDA backend. Each function is absent from a build without one, see
// ACCRUE_OPTIONAL; whoever holds a usable Device::cuda() may call them.
// Now read: runtime.cpp, allocator.cpp, stream.cpp, copy.cpp.
#pragma once
#include <cstddef>
#include <string>

#include <accrue/core/allocator.h>
#include <accrue/core/device.h>
#include <accrue/core/macros.h>

namespace accrue::cuda {

/// Devices that can be used, at most kMaxDevices; 0 on any error of the driver. Asked once.
ACCRUE_OPTIONAL int device_count() noexcept;
/// Why there is none; empty if there are some.
ACCRUE_OPTIONAL std::string why_no_device();
/// "NVIDIA H200, compute capability 9.0, 139.8 GiB"
ACCRUE_OPTIONAL std::string describe(int device);

/// The memory of a device, and page-locked memory of the host. Both live as long as the process.
ACCRUE_OPTIONAL Allocator& allocator(int device);
ACCRUE_OPTIONAL Allocator& pinned_allocator();

/// Copies between any two places, in the order of the current streams of the devices involved.
/// Returns when `from` may change, unless `asynchronous`: then when the copy is queued.
ACCRUE_OPTIONAL void copy(void* to, Device to_device, const void* from, Device from_device,
                          size_t bytes, bool asynchronous);
/// Every byte becomes `byte`, in the order of the current stream.
ACCRUE_OPTIONAL void fill_bytes(void* to, Device device, int byte, size_t bytes);

// ---- streams and events of core/stream.h, as handles ----
ACCRUE_OPTIONAL void* make_stream(Device device);
ACCRUE_OPTIONAL void synchronize_stream(Device device, void* stream);
ACCRUE_OPTIONAL void synchronize_device(Device device);
ACCRUE_OPTIONAL bool stream_is_idle(Device device, void* stream);
ACCRUE_OPTIONAL void* make_event(Device device);
ACCRUE_OPTIONAL void destroy_event(Device device, void* event) noexcept;
ACCRUE_OPTIONAL void record_event(Device device, void* event, void* stream);
ACCRUE_OPTIONAL void wait_for_event(Device device, void* stream, void* event);
ACCRUE_OPTIONAL void synchronize_event(Device device, void* event);
ACCRUE_OPTIONAL bool event_is_done(Device device, void* event);
ACCRUE_OPTIONAL double elapsed_ms(Device device, void* begin, void* end);

}  // namespace accrue::cuda
