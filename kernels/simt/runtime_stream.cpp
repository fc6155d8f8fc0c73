// The calls of the CUDA runtime that order work: waiting, events, host functions. Creation and
// destruction of streams and events are in stream.cpp.
#include <chrono>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/stream.h>

using namespace accrue::simt;

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const Entered entered;
  CUstream_st* stream = find_stream("cudaStreamSynchronize", handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  wait_for({stream->id, stream->queued});
  return outcome();
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const Entered entered;
  CUstream_st* stream = find_stream("cudaStreamQuery", handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  const bool done = stream->tasks.empty();
  run_one(*stream);
  const cudaError_t result = outcome();
  return result != cudaSuccess || done ? result : fail(cudaErrorNotReady);
}

cudaError_t cudaDeviceSynchronize() {
  const Entered entered;
  run_device(current_device());
  return outcome();
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, void (*function)(void*), void* data) {
  const Entered entered;
  CUstream_st* stream = find_stream("cudaLaunchHostFunc", handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  queue(*stream, [=] { function(data); });
  return outcome();
}

cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t stream_handle) {
  const Entered entered;
  CUevent_st* event = find_event("cudaEventRecord", event_handle);
  CUstream_st* stream = event ? find_stream("cudaEventRecord", stream_handle) : nullptr;
  if (!stream) return cudaErrorInvalidResourceHandle;
  const auto state = event->state;
  if (state->device != stream->device) {
    if (first_time(Fault::wrong_device, reinterpret_cast<uint64_t>(&cudaEventRecord))) {
      Finding(Fault::wrong_device, join("cudaEventRecord: the event is of device ", state->device,
                                        ", the stream of device ", stream->device))
          .report("an event and a stream of one device");
    }
    return fail(cudaErrorInvalidResourceHandle);
  }
  state->recorded = queue(*stream, [state] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    state->milliseconds = std::chrono::duration<double, std::milli>(now).count();
  });
  return outcome();
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const Entered entered;
  CUevent_st* event = find_event("cudaEventSynchronize", handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  wait_for(event->state->recorded);
  return outcome();
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const Entered entered;
  CUevent_st* event = find_event("cudaEventQuery", handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  if (is_done(event->state->recorded)) return outcome();
  for (CUstream_st* stream : streams_of(event->state->device)) {
    if (stream->id == event->state->recorded.stream) run_one(*stream);
  }
  return fail(cudaErrorNotReady);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle, unsigned) {
  const Entered entered;
  CUevent_st* event = find_event("cudaStreamWaitEvent", event_handle);
  CUstream_st* stream = event ? find_stream("cudaStreamWaitEvent", stream_handle) : nullptr;
  if (!stream) return cudaErrorInvalidResourceHandle;
  queue(*stream, nullptr, {event->state->recorded});
  return outcome();
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const Entered entered;
  const CUevent_st* first = find_event("cudaEventElapsedTime", begin);
  const CUevent_st* last = first ? find_event("cudaEventElapsedTime", end) : nullptr;
  if (!last) return cudaErrorInvalidResourceHandle;
  for (const CUevent_st* event : {first, last}) {
    if (!event->state->timed || event->state->recorded.stream == 0) {
      return refuse("cudaEventElapsedTime", "the event was never recorded, or takes no time",
                    "cudaEventRecord first, and no cudaEventDisableTiming",
                    cudaErrorInvalidResourceHandle);
    }
    if (!is_done(event->state->recorded)) return fail(cudaErrorNotReady);
  }
  *milliseconds = static_cast<float>(last->state->milliseconds - first->state->milliseconds);
  return outcome();
}
