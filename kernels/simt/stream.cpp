#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/random.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/stream.h>

namespace accrue::simt {
namespace {

struct Streams {
  std::map<uint64_t, CUstream_st*> live;  // by id, the default streams of the devices first
  uint64_t last_id = 0;
  Dice dice{1};
  std::vector<CUevent_st*> events;

  Streams() {
    for (int device = 0; device < kDevices; ++device) add(device, true);
  }
  CUstream_st* add(int device, bool blocking) {
    auto* stream = new CUstream_st{++last_id, device, blocking, {}};
    live[stream->id] = stream;
    return stream;
  }
};
Streams& streams() {
  static auto* const instance = new Streams;
  return *instance;
}

CUstream_st& default_stream(int device) {
  return *streams().live.at(static_cast<uint64_t>(device) + 1);
}
bool is_default(const CUstream_st& stream) { return stream.id <= kDevices; }

}  // namespace

CUstream_st* find_stream(const char* call, cudaStream_t handle) {
  if (!handle) return &default_stream(current_device());
  const bool live = std::any_of(streams().live.begin(), streams().live.end(),
                                [&](const auto& entry) { return entry.second == handle; });
  if (!live) {
    refuse(call, "the handle is no live stream", "a stream that cudaStreamCreate gave",
           cudaErrorInvalidResourceHandle);
    return nullptr;
  }
  if (handle->device == current_device()) return handle;
  if (first_time(Fault::wrong_device, std::hash<std::string>{}(call))) {
    Finding(Fault::wrong_device, join(call, ": the stream is of device ", handle->device,
                                      ", the current device is ", current_device()))
        .report("cudaSetDevice to the device of the stream first");
  }
  fail(cudaErrorInvalidResourceHandle);
  return nullptr;
}

CUevent_st* find_event(const char* call, cudaEvent_t handle) {
  const auto& all = streams().events;
  if (std::find(all.begin(), all.end(), handle) != all.end()) return handle;
  refuse(call, "the handle is no live event", "an event that cudaEventCreate gave",
         cudaErrorInvalidResourceHandle);
  return nullptr;
}

std::vector<CUstream_st*> streams_of(int device) {
  std::vector<CUstream_st*> list;
  for (const auto& [id, stream] : streams().live) {
    if (stream->device == device) list.push_back(stream);
  }
  return list;
}

Ticket queue(CUstream_st& stream, std::function<void()> work, std::vector<Ticket> after) {
  // The default stream and the blocking streams of a device wait for each other.
  for (const CUstream_st* other : streams_of(stream.device)) {
    const bool one_is_default = is_default(stream) != is_default(*other);
    if (one_is_default && stream.blocking && other->blocking) {
      after.push_back({other->id, other->queued});
    }
  }
  stream.tasks.push_back({std::move(after), std::move(work)});
  const Ticket ticket{stream.id, ++stream.queued};
  if (!executor().schedule.lazy) wait_for(ticket);
  return ticket;
}

void run_one(CUstream_st& stream) {
  if (stream.tasks.empty()) return;
  const Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  for (const Ticket& ticket : task.after) wait_for(ticket);
  if (task.work) task.work();
  ++stream.done;
}

bool is_done(const Ticket& ticket) {
  const auto found = streams().live.find(ticket.stream);
  return found == streams().live.end() || found->second->done >= ticket.number;
}

void wait_for(const Ticket& ticket) {
  const auto found = streams().live.find(ticket.stream);
  if (found == streams().live.end()) return;  // a stream has done all its work before it dies
  while (found->second->done < ticket.number && !found->second->tasks.empty()) {
    run_one(*found->second);
  }
}

void run_device(int device) {
  for (;;) {
    std::vector<CUstream_st*> busy = streams_of(device);
    std::erase_if(busy, [](const CUstream_st* s) { return s->tasks.empty(); });
    if (busy.empty()) return;
    run_one(*busy[streams().dice.roll(busy.size())]);
  }
}

void run_everything() {
  for (int device = 0; device < kDevices; ++device) run_device(device);
  streams().dice = Dice(executor().schedule.seed);
}

void drop_everything() {
  for (const auto& [id, stream] : streams().live) {
    stream->tasks.clear();
    stream->done = stream->queued;
  }
}

}  // namespace accrue::simt

using namespace accrue::simt;  // the functions below are CUDA's, and global

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Entered entered;
  *stream = streams().add(current_device(), (flags & cudaStreamNonBlocking) == 0);
  return outcome();
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const Entered entered;
  if (!handle) {
    return refuse("cudaStreamDestroy", "the default stream cannot be destroyed", "",
                  cudaErrorInvalidResourceHandle);
  }
  CUstream_st* stream = find_stream("cudaStreamDestroy", handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  wait_for({stream->id, stream->queued});
  streams().live.erase(stream->id);
  delete stream;
  return outcome();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const Entered entered;
  auto state = std::make_shared<EventState>();
  state->device = current_device();
  state->timed = (flags & cudaEventDisableTiming) == 0;
  *event = new CUevent_st{std::move(state)};
  streams().events.push_back(*event);
  return outcome();
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  const Entered entered;
  CUevent_st* event = find_event("cudaEventDestroy", handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  std::erase(streams().events, event);
  delete event;
  return outcome();
}
