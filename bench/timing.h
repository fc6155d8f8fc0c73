// What the benchmarks share: a clock, and the median, which a busy neighbour moves little.
//
// Google Benchmark chooses how often a benchmark runs and prints its own mean; the counters printed
// beside it are medians over all of its iterations.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

#include <time.h>

namespace accrue::bench {

/// Seconds that `work` takes.
template <class F>
double seconds(F&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Seconds of processor time that `work` takes on this thread: what a busy machine does between
/// does not count. For work that neither waits nor uses other threads.
template <class F>
double cpu_seconds(F&& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace accrue::bench
