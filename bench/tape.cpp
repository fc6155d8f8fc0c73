// What an operator costs beside its arithmetic: a chain of 1000 additions and multiplications of
// tiny tensors, computed without a tape, with one, and with backward() after it. The time includes
// making and freeing every tensor and every node.
//
//   accrue_bench_tape          names: tape/MODE/elements:64, counter ns/op
#include "timing.h"
#include <benchmark/benchmark.h>

#include <accrue/accrue.h>

namespace accrue::bench {
namespace {

constexpr int kOps = 1000;

enum class Mode { no_grad, forward, forward_backward };

void run_chain(const Tensor& x, const Tensor& w, Mode mode) {
  Tensor y = x;
  for (int i = 0; i < kOps / 2; ++i) {
    y = y + w;
    y = y * w;
  }
  if (mode == Mode::forward_backward) sum(y).backward();
}

void run(benchmark::State& state, Mode mode) {
  Tensor x = full({state.range(0)}, 0.01);
  const Tensor w = ones({state.range(0)});
  x.set_requires_grad(mode != Mode::no_grad);
  std::vector<double> times;
  while (state.KeepRunning()) times.push_back(seconds([&] { run_chain(x, w, mode); }));
  state.counters["ns/op"] = median(times) * 1e9 / kOps;
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("elements")->Arg(1)->Arg(64)->Arg(1024);
}
BENCHMARK_CAPTURE(run, no_grad, Mode::no_grad)->Name("tape/no_grad")->Apply(arguments);
BENCHMARK_CAPTURE(run, forward, Mode::forward)->Name("tape/forward")->Apply(arguments);
BENCHMARK_CAPTURE(run, forward_backward, Mode::forward_backward)
    ->Name("tape/forward_backward")
    ->Apply(arguments);

}  // namespace
}  // namespace accrue::bench

BENCHMARK_MAIN();
