// Runs one block of a grid: its threads as fibers, its barriers, its warps. A thread runs until it
// must wait; then the next one that can goes on, in the order of the schedule.
// Now read: block.cpp, and warp.cpp for what the lanes of a warp do together.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <accrue/kernels/simt/control.h>
#include <accrue/kernels/simt/fiber.h>
#include <accrue/kernels/simt/launch.h>
#include <accrue/kernels/simt/random.h>
#include <accrue/kernels/simt/vocabulary.h>

namespace accrue::simt {

class Grid;

enum class State : uint8_t { fresh, ready, at_barrier, at_warp_operation, done };

struct WarpCall {
  WarpOperation operation = WarpOperation::sync;
  unsigned mask = 0;
  uint64_t value = 0;
  int source = 0;
  uint64_t result = 0;
};

struct Thread {
  uint3 index{};
  unsigned number = 0;  // x fastest
  State state = State::fresh;
  Fiber* fiber = nullptr;
  WarpCall call;
  Site site;  // of the call it waits in
};

struct Warp {
  uint32_t waiting = 0;  // lanes in a warp operation
  uint32_t exited = 0;   // lanes that have ended or never were
  // Vector clocks: clock[i][j] counts the __syncwarp()s of lane j that lane i has seen.
  uint32_t clock[32][32] = {};
};

class Block {
 public:
  explicit Block(Grid& grid) : grid_(grid) {}

  // Runs all threads of the block to their end. False if the launch was killed.
  bool run(uint32_t serial, uint3 index);

  const Launch& launch() const;
  const Grid& grid() const { return grid_; }
  uint3 index() const { return index_; }
  uint32_t serial() const { return serial_; }
  uint32_t first_serial() const;
  uint16_t epoch() const { return epoch_; }
  const Thread& current() const { return *current_; }
  const Warp& warp_of(const Thread& thread) const { return warps_[thread.number / 32]; }

  unsigned barrier(int vote, Site site);
  uint64_t warp_operation(const WarpCall& call, Site site);
  // Called after each access: gives way if the schedule says so.
  void count_access();
  // Ends the launch: the device has failed. Returns to whoever runs the grid, not to the kernel.
  [[noreturn]] void kill(cudaError_t error);
  bool killed() const { return killed_; }

  // "thread (1,0,0) of block (3,0,0)".
  std::string describe(const Thread& thread) const { return describe(serial_, thread.number); }
  std::string describe(uint32_t serial, unsigned thread) const;

 private:
  static void fiber_main();
  void start(uint32_t serial, uint3 index);
  void give_way();
  void make_ready(Thread& thread);
  void order_from(size_t first);  // the newly ready threads, as the schedule wants them
  void finish(Thread& thread);
  void try_barrier();
  void release_barrier();
  bool try_warp(unsigned warp);
  void check_same_call(const Thread& one, const Thread& other);
  void exchange_values(unsigned warp, uint32_t lanes);
  void report_deadlock();

  Grid& grid_;
  uint3 index_{};
  uint32_t serial_ = 0;
  uint16_t epoch_ = 0;
  bool killed_ = false;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Thread*> ready_;
  size_t next_ = 0;  // of ready_
  Thread* current_ = nullptr;
  Fiber host_;
  size_t alive_ = 0;
  size_t at_barrier_ = 0;
  unsigned votes_ = 0;
  unsigned last_votes_ = 0;
  uint64_t accesses_without_progress_ = 0;
};

const char* name_of(WarpOperation operation);

// The block that this host thread runs, or null: then it runs host code.
extern constinit thread_local Block* running;

}  // namespace accrue::simt
