// What accumulation costs: one optimizer step of an MLP (784-512-512-10, ReLU, SGD with momentum)
// over 512 samples, cut into N micro-batches.
//
// `accumulation` is accrue as it is: every weight gradient is added to where it belongs by the
// product that makes it. `accumulation_separate_add` is what others do: every gradient of a later
// micro-batch is a tensor of its own, and is then added to `.grad` by a kernel of its own.
//
//   accrue_bench_accumulation --benchmark_filter=N:8$      names: accumulation/N:8
//   accrue_bench_accumulation --device cuda
#include <algorithm>
#include <cstring>
#include <iostream>

#include "timing.h"
#include <benchmark/benchmark.h>

#include <accrue/kernels/trace.h>

#include <accrue/accrue.h>

namespace accrue::bench {
namespace {

constexpr int64_t kSamples = 4096;  // the data set
constexpr int64_t kStep = 512;      // samples of one optimizer step
constexpr int64_t kWarmUp = 3;

enum class Add { fused, separate };

struct Mlp : nn::Module {
  std::shared_ptr<nn::Linear> a = add<nn::Linear>("a", 784, 512);
  std::shared_ptr<nn::Linear> b = add<nn::Linear>("b", 512, 512);
  std::shared_ptr<nn::Linear> c = add<nn::Linear>("c", 512, 10);
  Tensor forward(const Tensor& x) override {
    return c->forward(relu(b->forward(relu(a->forward(x)))));
  }
};

struct DataSet {
  Tensor x = rand({kSamples, 784});
  Tensor y = randint(0, 10, {kSamples});
};

class Training {
 public:
  Training(const DataSet& data, int64_t micro_batches, Add how)
      : data_(data), micro_batches_(micro_batches), how_(how) {}

  double step() {
    const int64_t rows = kStep / micro_batches_;
    double loss = 0;
    for (int64_t i = 0; i < micro_batches_; ++i) {
      if (at_ + rows > kSamples) at_ = 0;
      const Tensor logits = model_.forward(narrow(data_.x, 0, at_, rows));
      const Tensor part = cross_entropy(logits, narrow(data_.y, 0, at_, rows)) /
                          static_cast<double>(micro_batches_);
      at_ += rows;
      backward(part, i);
      loss += part.item();
    }
    optimizer_.step();
    optimizer_.zero_grad();
    return loss;
  }

 private:
  void backward(const Tensor& loss, int64_t micro_batch) {
    if (how_ == Add::fused || micro_batch == 0) return loss.backward();
    const std::vector<Tensor> gradients = grad(loss, parameters_);
    for (size_t i = 0; i < gradients.size(); ++i) {
      Tensor sum = parameters_[i].grad();
      add_(sum, gradients[i]);
    }
  }

  const DataSet& data_;
  int64_t micro_batches_;
  Add how_;
  Mlp model_;
  std::vector<Tensor> parameters_ = model_.parameters();
  optim::SGD optimizer_{model_.named_parameters(), {.lr = 0.02, .momentum = 0.9}};
  int64_t at_ = 0;
};

void run(benchmark::State& state, Add how) {
  manual_seed(1);
  const DataSet data;
  const Device device = default_device();
  const int64_t before = memory_stats(device).total.live;
  Training training(data, state.range(0), how);
  for (int64_t i = 0; i < kWarmUp; ++i) training.step();
  reset_peak_memory_stats(device);
  std::vector<double> times;
  while (state.KeepRunning())
    times.push_back(seconds([&] {
      benchmark::DoNotOptimize(training.step());
      synchronize(device);
    }));
  const double step = median(times);
  state.counters["steps/s"] = 1 / step;
  state.counters["samples/s"] = static_cast<double>(kStep) / step;
  state.counters["peak_bytes"] = static_cast<double>(memory_stats(device).total.peak - before);
  const kernels::Trace trace;
  training.step();
  state.counters["kernels"] = static_cast<double>(trace.calls().size());
  state.counters["bytes_moved"] = static_cast<double>(trace.bytes());
}

void accumulation(benchmark::State& state) { run(state, Add::fused); }
void accumulation_separate_add(benchmark::State& state) { run(state, Add::separate); }

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("N")->RangeMultiplier(2)->Range(1, 32)->Unit(benchmark::kMillisecond);
}
BENCHMARK(accumulation)->Apply(arguments);
BENCHMARK(accumulation_separate_add)->Apply(arguments);

/// Takes `--device NAME` out of the arguments and makes it the default device.
void take_device(int& argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--device") != 0) continue;
    set_default_device(Device::parse(argv[i + 1]));
    std::rotate(argv + i, argv + i + 2, argv + argc);
    argc -= 2;
    return;
  }
}

}  // namespace
}  // namespace accrue::bench

int main(int argc, char** argv) {
  try {
    accrue::bench::take_device(argc, argv);
  } catch (const accrue::DeviceError& error) {
    std::cerr << "accrue_bench_accumulation: " << error.what() << '\n';
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
