// What a test asks of the executor that runs CUDA kernels on the host: in which order things
// happen, what was found wrong, and how much was run. Kernels include simt.h instead. Now read:
// docs/cuda.md for what is checked.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace accrue::simt {

// The order of blocks in a grid and of threads in a block, wherever CUDA promises none.
enum class Order : uint8_t { forward, reverse, random };

struct Schedule {
  Order order = Order::forward;
  uint64_t seed = 1;
  bool lazy = false;           // streams do their work only when somebody waits for it
  uint64_t preempt_every = 0;  // a thread gives way after that many accesses; 0 is never
  bool guard_host = false;     // device memory is mapped only while the device works
};

// Waits for all queued work, then changes the order of what follows.
void set_schedule(const Schedule& schedule);
Schedule schedule();

enum class Fault : uint8_t {
  race,
  out_of_bounds,
  use_after_free,
  uninitialised,
  misaligned,
  barrier,
  warp,
  deadlock,
  host_pointer,    // a kernel touched host memory, or no memory at all
  device_pointer,  // host code touched device memory
  wrong_device,
  bad_launch,
  overlap,     // two Restrict arguments are one address
  bad_call,    // a call of the runtime that CUDA would refuse
  arithmetic,  // an overflow, a division by zero or a shift that C++ leaves undefined
};
const char* name_of(Fault fault);

// One finding. `text` begins with the name of its fault and is what was written to stderr.
struct Report {
  Fault fault;
  std::string text;
};

// What was found since the last call; the same fault at the same place is reported once.
std::vector<Report> take_reports();

// Drops queued work, reports and errors, the sticky ones included. Allocations stay.
void reset();

// Whether reports are also written to stderr as they are found (they are, at first).
void set_echo(bool echo);

// How many accesses a block may make while no thread of it ends or meets a barrier or a warp
// operation. Beyond them it is taken to wait for something that cannot happen.
void set_patience(uint64_t accesses);

// Reports call the allocation at `pointer` by this name. REQUIRES: cudaMalloc gave the pointer.
void name_allocation(const void* pointer, const std::string& name);

struct Counts {
  uint64_t launches = 0;
  uint64_t products = 0;  // of cuBLAS
  uint64_t blocks = 0;
  uint64_t threads = 0;
  uint64_t switches = 0;  // from one thread to another
  uint64_t accesses = 0;  // loads and stores that were checked
};
Counts counts();

}  // namespace accrue::simt
