// The matrix product, at the shapes of an MLP and of a GPT: GFLOP/s, as a fraction of the
// multiply-adds the processor can do, and beside OpenBLAS. All three are measured in turns, a slice
// of a millisecond each, so that what else the machine does meets them alike.
//
//   accrue_bench_matmul --benchmark_filter=/512x512x512/    names: matmul/SHAPE/WRITE/threads:N
#include <cmath>
#include <string>

#include "openblas.h"
#include "peak.h"
#include "timing.h"
#include <benchmark/benchmark.h>

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/matmul.h>

namespace accrue::bench {
namespace {

/// c[m, n] = a · b. Forward multiplies with a transposed weight, the input's gradient with neither,
/// the weight's gradient with a transposed dy.
enum class Form { forward, input_gradient, weight_gradient };

struct Shape {
  const char* name;
  int m, n, k;
  Form form;
};

constexpr Shape kShapes[] = {
    {"512x512x512", 512, 512, 512, Form::input_gradient},
    {"1024x1024x1024", 1024, 1024, 1024, Form::input_gradient},
    {"2048x2048x2048", 2048, 2048, 2048, Form::input_gradient},
    {"mlp_forward_16", 16, 512, 784, Form::forward},
    {"mlp_forward_64", 64, 512, 784, Form::forward},
    {"mlp_forward_512", 512, 512, 784, Form::forward},
    {"mlp_input_gradient_16", 16, 512, 512, Form::input_gradient},
    {"mlp_input_gradient_64", 64, 512, 512, Form::input_gradient},
    {"mlp_input_gradient_512", 512, 512, 512, Form::input_gradient},
    {"mlp_weight_gradient_16", 512, 784, 16, Form::weight_gradient},
    {"mlp_weight_gradient_64", 512, 784, 64, Form::weight_gradient},
    {"mlp_weight_gradient_512", 512, 784, 512, Form::weight_gradient},
    {"gpt_fc_forward_256", 256, 3072, 768, Form::forward},
    {"gpt_fc_input_gradient_256", 256, 768, 3072, Form::input_gradient},
    {"gpt_fc_weight_gradient_256", 3072, 768, 256, Form::weight_gradient},
    {"gpt_qkv_forward_1024", 1024, 2304, 768, Form::forward},
    {"gpt_qkv_weight_gradient_1024", 2304, 768, 1024, Form::weight_gradient},
};

/// The operands of one product, each dense, as they lie in a training step.
class Product {
 public:
  explicit Product(const Shape& shape)
      : shape_(shape),
        a_(randn(a_transposed() ? Dims{shape.k, shape.m} : Dims{shape.m, shape.k})),
        b_(randn(b_transposed() ? Dims{shape.n, shape.k} : Dims{shape.k, shape.n})),
        ours_(zeros({shape.m, shape.n})),
        theirs_(zeros({shape.m, shape.n})) {}

  double flop() const { return 2.0 * shape_.m * shape_.n * shape_.k; }

  void run_ours(Write write) {
    const ConstView a = a_;
    const ConstView b = b_;
    kernels::matmul(a_transposed() ? kernels::transposed(a) : a,
                    b_transposed() ? kernels::transposed(b) : b, Dest(ours_.view(), write));
  }
  void run_openblas(Write write) {
    OpenBlas::instance().sgemm({shape_.m, shape_.n, shape_.k, a_transposed(), b_transposed(),
                                a_.data<float>(), b_.data<float>(), write == Write::add ? 1.F : 0.F,
                                theirs_.data<float>()});
  }
  /// The largest difference of an element of the two results, over √k.
  double difference() const {
    const auto ours = ours_.to_vector<double>();
    const auto theirs = theirs_.to_vector<double>();
    double largest = 0;
    for (size_t i = 0; i < ours.size(); ++i)
      largest = std::max(largest, std::abs(ours[i] - theirs[i]));
    return largest / std::sqrt(shape_.k);
  }

 private:
  bool a_transposed() const { return shape_.form == Form::weight_gradient; }
  bool b_transposed() const { return shape_.form == Form::forward; }

  Shape shape_;
  Tensor a_, b_, ours_, theirs_;
};

void run(benchmark::State& state, const Shape& shape, Write write, int threads) {
  OpenBlas& openblas = OpenBlas::instance();
  set_num_threads(threads);
  if (openblas) openblas.set_threads(threads);
  Product product(shape);
  product.run_ours(Write::overwrite);
  if (openblas) {
    product.run_openblas(Write::overwrite);
    if (product.difference() > 1e-4)
      return state.SkipWithError("OpenBLAS computes another product");
  }
  const int slice = std::max(1, static_cast<int>(2e8 / product.flop()));
  const auto timed = [&](auto&& once) {
    const auto work = [&] {
      for (int i = 0; i < slice; ++i) once();
    };
    return (threads == 1 ? cpu_seconds(work) : seconds(work)) / slice;
  };
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> peak;
  while (state.KeepRunning()) {
    ours.push_back(timed([&] { product.run_ours(write); }));
    state.PauseTiming();
    peak.push_back(fma_rate(threads));
    if (openblas) theirs.push_back(timed([&] { product.run_openblas(write); }));
    state.ResumeTiming();
  }
  const double rate = product.flop() / median(ours);
  const double fma = median(peak);
  state.counters["GFLOP/s"] = rate * 1e-9;
  state.counters["of_peak"] = rate / fma;
  state.counters["peak_GFLOP/s"] = fma * 1e-9;
  if (openblas) {
    const double blas = product.flop() / median(theirs);
    state.counters["openblas_GFLOP/s"] = blas * 1e-9;
    state.counters["to_openblas"] = rate / blas;
    state.SetLabel(openblas.core());
  }
}

void register_all() {
  for (const Shape& shape : kShapes)
    for (Write write : {Write::overwrite, Write::add})
      for (int threads : {1, 2}) {
        const std::string name = std::string("matmul/") + shape.name +
                                 (write == Write::add ? "/add" : "/overwrite") +
                                 "/threads:" + std::to_string(threads);
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { run(state, shape, write, threads); });
      }
}

}  // namespace
}  // namespace accrue::bench

int main(int argc, char** argv) {
  accrue::bench::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
