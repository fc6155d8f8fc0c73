// The order of work on the devices. A stream is a queue of tasks, done in order; a task may wait
// for tasks of other streams. An eager schedule does a task as soon as it is queued. A lazy one
// waits until somebody asks for the result, and then lets the dice choose among the streams: work
// that nothing orders is done in an order that nobody expects.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <cuda_runtime.h>

namespace accrue::simt {

// A task of a stream, by number; done when the stream has done as many.
struct Ticket {
  uint64_t stream = 0;  // 0 is no task: done
  uint64_t number = 0;
};
struct Task {
  std::vector<Ticket> after;
  std::function<void()> work;
};

struct EventState {
  int device = 0;
  bool timed = true;
  Ticket recorded;
  double milliseconds = -1;  // when the record was done, by a steady clock
};

// The stream of a handle: null is the default stream of the current device. Reports a handle that
// is no live stream, or one of another device, and returns null.
CUstream_st* find_stream(const char* call, cudaStream_t handle);
CUevent_st* find_event(const char* call, cudaEvent_t handle);

Ticket queue(CUstream_st& stream, std::function<void()> work, std::vector<Ticket> after = {});
void wait_for(const Ticket& ticket);
bool is_done(const Ticket& ticket);
void run_device(int device);
void run_everything();
void drop_everything();
// One task of the stream, if it has any: a loop around cudaStreamQuery() comes to an end.
void run_one(CUstream_st& stream);
std::vector<CUstream_st*> streams_of(int device);

}  // namespace accrue::simt

struct CUstream_st {
  uint64_t id;
  int device;
  bool blocking;  // takes turns with the default stream
  std::deque<accrue::simt::Task> tasks;
  uint64_t queued = 0;
  uint64_t done = 0;
};
struct CUevent_st {
  std::shared_ptr<accrue::simt::EventState> state;
};
