// Workers wait on a ticket of their own: they spin for some tens of microseconds, so that regions
// which follow one another cost a cache line each way, and then sleep in the kernel.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <accrue/core/error.h>

#include <accrue/kernels/cpu/parallel.h>

namespace accrue {
namespace kernels::cpu {
namespace {

constexpr int kMaxThreads = 1024;
constexpr auto kSpin = std::chrono::microseconds(50);

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `word` differs from `old` and returns what it holds then.
uint32_t await_change(const std::atomic<uint32_t>& word, uint32_t old) {
  auto give_up = std::chrono::steady_clock::time_point{};
  for (int turn = 1;; ++turn) {
    if (const uint32_t now = word.load(std::memory_order_acquire); now != old) return now;
    pause();
    if (turn % 64 != 0) continue;
    const auto time = std::chrono::steady_clock::now();
    if (turn == 64) give_up = time + kSpin;
    if (time >= give_up) word.wait(old, std::memory_order_acquire);
  }
}

struct Region {
  const RangeBody& body;
  int64_t n;
  int64_t pieces;
  void run(int64_t piece) const { body(n * piece / pieces, n * (piece + 1) / pieces); }
};

thread_local bool inside_region = false;

class Pool {
 public:
  // Runs the region if the pool is free; fewer pieces than asked if the system has no more threads.
  bool try_run(int64_t n, int64_t pieces, const RangeBody& body) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    pieces = 1 + start_workers(pieces - 1);
    const Region region{body, n, pieces};
    region_ = &region;
    pending_.store(static_cast<uint32_t>(pieces - 1), std::memory_order_relaxed);
    for (int64_t i = 0; i < pieces - 1; ++i) {
      std::atomic<uint32_t>& ticket = workers_[static_cast<size_t>(i)]->ticket;
      ticket.fetch_add(1, std::memory_order_release);
      ticket.notify_one();
    }
    inside_region = true;
    std::exception_ptr error = run_piece(region, 0);
    inside_region = false;
    for (uint32_t left = pending_.load(std::memory_order_acquire); left != 0;) {
      left = await_change(pending_, left);
    }
    for (int64_t i = 0; i < pieces - 1; ++i) {
      std::exception_ptr theirs = std::exchange(workers_[static_cast<size_t>(i)]->error, nullptr);
      if (!error) error = std::move(theirs);
    }
    if (error) std::rethrow_exception(error);
    return true;
  }

 private:
  struct alignas(64) Worker {
    std::atomic<uint32_t> ticket{0};
    std::exception_ptr error;
  };

  static std::exception_ptr run_piece(const Region& region, int64_t piece) {
    try {
      region.run(piece);
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  int64_t start_workers(int64_t wanted) {
    while (static_cast<int64_t>(workers_.size()) < wanted) {
      auto worker = std::make_unique<Worker>();
      const auto piece = static_cast<int64_t>(workers_.size()) + 1;
      try {
        // Detached: the pool is never destroyed, and a sleeping worker ends with the process.
        std::thread([this, piece, w = worker.get()] { serve(*w, piece); }).detach();
      } catch (const std::system_error&) {
        return static_cast<int64_t>(workers_.size());
      }
      workers_.push_back(std::move(worker));
    }
    return wanted;
  }

  [[noreturn]] void serve(Worker& me, int64_t piece) {
    inside_region = true;
    for (uint32_t seen = 0;;) {
      seen = await_change(me.ticket, seen);
      me.error = run_piece(*region_, piece);
      if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
    }
  }

  std::mutex busy_;
  std::vector<std::unique_ptr<Worker>> workers_;
  const Region* region_ = nullptr;
  alignas(64) std::atomic<uint32_t> pending_{0};
};

Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

int initial_threads() {
  const char* text = std::getenv("ACCRUE_NUM_THREADS");
  const int64_t asked = text ? std::strtol(text, nullptr, 10) : 0;
  const int64_t cores = std::thread::hardware_concurrency();
  return static_cast<int>(std::clamp<int64_t>(asked > 0 ? asked : cores, 1, kMaxThreads));
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{initial_threads()};
  return count;
}

}  // namespace

void parallel_for(int64_t n, int64_t grain, RangeBody body) {
  if (n <= 0) return;
  const int64_t fit = std::max<int64_t>(1, n / std::max<int64_t>(1, grain));
  if (fit == 1 || inside_region) return body(0, n);
  const int64_t pieces = std::min<int64_t>(fit, get_num_threads());
  if (pieces == 1 || !pool().try_run(n, pieces, body)) body(0, n);
}

}  // namespace kernels::cpu

void set_num_threads(int n) {
  check<ValueError>(n >= 1 && n <= kernels::cpu::kMaxThreads, "set_num_threads: got ", n,
                    "; it must be from 1 to ", kernels::cpu::kMaxThreads);
  kernels::cpu::thread_count().store(n, std::memory_order_relaxed);
}

int get_num_threads() { return kernels::cpu::thread_count().load(std::memory_order_relaxed); }

}  // namespace accrue
