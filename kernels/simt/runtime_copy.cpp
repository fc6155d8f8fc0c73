// The calls of the CUDA runtime that copy and fill memory. A copy carries the states of its bytes:
// what was never written stays so, and only a copy to the host reads it.
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/range.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/stream.h>

using namespace accrue::simt;

namespace {

struct Copy {
  const char* call;
  void* to;
  const void* from;
  size_t bytes;
  int device;
};

size_t content_hash(const void* from, size_t bytes) {
  return std::hash<std::string_view>{}({static_cast<const char*>(from), bytes});
}

// One end of the copy.
Range range_of(const Copy& copy, const void* pointer, const char* role) {
  return {copy.call, role, pointer, copy.bytes, copy.device};
}

void copy_now(const Copy& copy, bool between_devices) {
  if (executor().device(copy.device).failure != cudaSuccess) return;
  const DeviceWorks works;
  const bool from_device = Arena::contains(copy.from), to_device = Arena::contains(copy.to);
  if (from_device && !check_range(range_of(copy, copy.from, "source"), between_devices)) return;
  if (to_device && !check_range(range_of(copy, copy.to, "destination"), between_devices)) return;
  if (from_device && to_device) {
    std::memmove(Arena::states(Arena::offset(copy.to)), Arena::states(Arena::offset(copy.from)),
                 copy.bytes);
  } else if (to_device) {
    Arena::set_states(Arena::offset(copy.to), copy.bytes, ByteState::set);
  } else if (from_device) {
    const ByteState* unset = Arena::find(Arena::offset(copy.from), copy.bytes, ByteState::unset);
    if (unset && first_time(Fault::uninitialised, Arena::offset(copy.from))) {
      const void* first = Arena::address(static_cast<size_t>(unset - Arena::states(0)));
      Finding(Fault::uninitialised,
              join(copy.call, " brings ", copy.bytes, " bytes to the host, some never written"))
          .line("first", describe_address(first))
          .report("a kernel or a copy that writes every element first");
    }
  }
  std::memmove(copy.to, copy.from, copy.bytes);
}

bool direction_is_right(const Copy& copy, cudaMemcpyKind kind) {
  const bool from_device = Arena::contains(copy.from), to_device = Arena::contains(copy.to);
  const cudaMemcpyKind actual = from_device && to_device ? cudaMemcpyDeviceToDevice
                                : from_device            ? cudaMemcpyDeviceToHost
                                : to_device              ? cudaMemcpyHostToDevice
                                                         : cudaMemcpyHostToHost;
  if (kind == cudaMemcpyDefault || kind == actual) return true;
  constexpr const char* kNames[] = {"HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice"};
  if (first_time(Fault::bad_call, static_cast<uint64_t>(kind), static_cast<uint64_t>(actual))) {
    Finding(Fault::bad_call, join(copy.call, ": the pointers are not those of ", kNames[kind]))
        .line("to", describe_address(copy.to))
        .line("from", describe_address(copy.from))
        .report(join("cudaMemcpy", kNames[actual]));
  }
  fail(cudaErrorInvalidValue);
  return false;
}

cudaError_t queue_copy(const Copy& copy, CUstream_st& stream, bool between_devices) {
  Arena::open();
  if (copy.bytes == 0) return outcome();
  const bool lazy = executor().schedule.lazy;
  const bool from_host = !Arena::contains(copy.from);
  // Until the copy is done the host leaves both ends alone: one is seen not to change, the other
  // holds nothing worth reading.
  const size_t hash = lazy && from_host ? content_hash(copy.from, copy.bytes) : 0;
  if (lazy && !from_host && !Arena::contains(copy.to)) std::memset(copy.to, 0xff, copy.bytes);
  queue(stream, [=] {
    const bool changed = lazy && from_host && content_hash(copy.from, copy.bytes) != hash;
    if (changed && first_time(Fault::race, std::hash<std::string>{}(copy.call))) {
      Finding(Fault::race, join(copy.call, ": the host changed the source before the copy"))
          .line("to", describe_address(copy.to))
          .report("cudaStreamSynchronize, or an event, before the host writes there again");
    }
    copy_now(copy, between_devices);
  });
  return outcome();
}

cudaError_t start_copy(const char* call, void* to, const void* from, size_t bytes,
                       cudaMemcpyKind kind, cudaStream_t handle, CUstream_st** used = nullptr) {
  CUstream_st* stream = find_stream(call, handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  const Copy copy{call, to, from, bytes, stream->device};
  if (!direction_is_right(copy, kind)) return cudaErrorInvalidValue;
  if (used) *used = stream;
  return queue_copy(copy, *stream, false);
}

cudaError_t start_peer_copy(const char* call, void* to, int to_device, const void* from,
                            int from_device, size_t bytes, cudaStream_t handle) {
  CUstream_st* stream = find_stream(call, handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  for (const auto& [pointer, device] :
       {std::pair(static_cast<const void*>(to), to_device), std::pair(from, from_device)}) {
    const bool known = Arena::contains(pointer) && Arena::offset(pointer) >= kSharedSpan;
    const Allocation* allocation = known ? Arena::allocation(Arena::offset(pointer)) : nullptr;
    if (allocation && allocation->device == device) continue;
    if (first_time(Fault::wrong_device, std::hash<std::string>{}(call))) {
      Finding(Fault::wrong_device, join(call, ": not on device ", device))
          .line("memory", describe_address(pointer))
          .report("each pointer with the device it was allocated on");
    }
    return fail(cudaErrorInvalidValue);
  }
  return queue_copy({call, to, from, bytes, stream->device}, *stream, true);
}

cudaError_t start_fill(const char* call, void* to, int value, size_t bytes, CUstream_st& stream) {
  Arena::open();
  if (bytes == 0) return outcome();
  if (!Arena::contains(to)) {
    return refuse(call, describe_address(to), "an address that cudaMalloc gave");
  }
  queue(stream, [=, device = stream.device] {
    if (executor().device(device).failure != cudaSuccess) return;
    const DeviceWorks works;
    if (!check_range({call, "destination", to, bytes, device})) return;
    Arena::set_states(Arena::offset(to), bytes, ByteState::set);
    std::memset(to, value, bytes);
  });
  return outcome();
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Entered entered;
  return start_copy("cudaMemcpyAsync", to, from, bytes, kind, stream);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const Entered entered;
  CUstream_st* stream = nullptr;
  const cudaError_t error = start_copy("cudaMemcpy", to, from, bytes, kind, nullptr, &stream);
  if (stream) wait_for({stream->id, stream->queued});
  return error == cudaSuccess ? outcome() : error;
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  const Entered entered;
  return start_peer_copy("cudaMemcpyPeerAsync", to, to_device, from, from_device, bytes, stream);
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           size_t bytes) {
  const Entered entered;
  const cudaError_t error =
      start_peer_copy("cudaMemcpyPeer", to, to_device, from, from_device, bytes, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t handle) {
  const Entered entered;
  CUstream_st* stream = find_stream("cudaMemsetAsync", handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  return start_fill("cudaMemsetAsync", to, value, bytes, *stream);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  const Entered entered;
  CUstream_st* stream = find_stream("cudaMemset", nullptr);
  return start_fill("cudaMemset", to, value, bytes, *stream);
}
