#include "tools/splits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <ostream>

#include "tools/dataset.h"
#include "tools/models.h"
#include "tools/progress.h"
#include "tools/train.h"

#include <accrue/core/factories.h>
#include <accrue/core/random.h>
#include <accrue/core/stream.h>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/split_invariant.h>

#include <accrue/autograd/ops.h>

#include <accrue/nn/module.h>

namespace accrue::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// Adds the gradients of the batch, cut into `count` micro-batches.
void accumulate(nn::Module& model, const Batch& batch, int64_t count) {
  const int64_t size = batch.labels.numel() / count;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor logits = model(narrow(batch.images, 0, i * size, size));
    cross_entropy(logits, narrow(batch.labels, 0, i * size, size), {.reduction = Reduction::sum})
        .backward();
  }
}

std::vector<float> gradients(const nn::Module& model) {
  std::vector<float> all;
  for (const Tensor& p : model.parameters()) {
    const std::vector<float> g = p.grad().to_vector<float>();
    all.insert(all.end(), g.begin(), g.end());
  }
  return all;
}

void check_options(const SplitOptions& options) {
  check<ValueError>(options.batch > 0, "--batch: ", options.batch, "; it must be 1 or more");
  check<ValueError>(std::isfinite(options.seconds) && options.seconds >= 0,
                    "--seconds: ", options.seconds, "; it must be a finite number, 0 or more");
  check<ValueError>(!options.counts.empty(), "--counts: none is given; give 1 or more numbers");
  for (int64_t count : options.counts)
    check<ValueError>(count > 0 && options.batch % count == 0, "--counts: ", count,
                      " does not cut ", options.batch,
                      " samples into equal micro-batches; it must divide --batch");
}

/// The first images, alone in memory.
Batch first_batch(const SplitOptions& options, Device device) {
  const Split images = load_fashion_mnist(fashion_mnist_folder()).train;
  check<ValueError>(options.batch <= images.size(), "--batch: ", options.batch,
                    " samples; there are ", images.size());
  return make_batch(images, arange(options.batch), device);
}

/// Calls of f per second: the median of several measurements, `seconds` in all, so that what
/// disturbs one of them does not show.
template <class F>
double median_rate(double seconds, Device device, const F& f) {
  std::array<double, 5> rates;
  for (double& rate : rates) {
    const auto start = Clock::now();
    int64_t calls = 0;
    double elapsed = 0;
    do {
      f();
      synchronize(device);
      ++calls;
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (elapsed < seconds / std::size(rates));
    rate = static_cast<double>(calls) / elapsed;
  }
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
}

SplitRow measure(const SplitOptions& options, const Batch& batch, int64_t count,
                 std::vector<float>& first_gradients) {
  const Device device = batch.images.device();
  manual_seed(options.seed);
  const auto model = make_model(options.model);
  model->to(device);
  const auto optimizer = make_optimizer("adamw", *model, 1e-3);
  accumulate(*model, batch, count);
  first_gradients = gradients(*model);
  const auto step = [&] {
    optimizer->zero_grad();
    accumulate(*model, batch, count);
    optimizer->step({.grad_scale = 1.0 / static_cast<double>(options.batch)});
  };
  step();
  reset_peak_memory_stats(device);
  const double steps_per_s = median_rate(options.seconds, device, step);
  return {.count = count,
          .micro_batch = options.batch / count,
          .samples_per_s = steps_per_s * static_cast<double>(options.batch),
          .peak_bytes = memory_stats(device).total.peak};
}

void compare(const std::vector<float>& mine, const std::vector<float>& whole, SplitRow& row) {
  for (size_t i = 0; i < mine.size(); ++i)
    row.largest_difference =
        std::max(row.largest_difference, std::abs(double{mine[i]} - double{whole[i]}));
  row.identical = std::memcmp(mine.data(), whole.data(), mine.size() * sizeof(float)) == 0;
}

}  // namespace

std::vector<SplitRow> measure_splits(const SplitOptions& options) {
  check_options(options);
  const Device device = Device::parse(options.device);
  use_threads(options.threads);
  if (options.split_invariant) set_split_invariant(true);
  const Batch batch = first_batch(options, device);
  std::vector<SplitRow> rows(options.counts.size());
  std::vector<std::vector<float>> all_gradients(rows.size());
  // The smallest micro-batches first: threads keep the workspace that larger ones need.
  for (size_t i = rows.size(); i-- > 0;)
    rows[i] = measure(options, batch, options.counts[i], all_gradients[i]);
  for (size_t i = 0; i < rows.size(); ++i) compare(all_gradients[i], all_gradients[0], rows[i]);
  return rows;
}

void print_splits(const SplitOptions& options, const std::vector<SplitRow>& rows,
                  std::ostream& out) {
  out << "One step of " << options.model << " on the same " << options.batch
      << " images, cut into N micro-batches"
      << (options.device == "cpu" ? "" : ", on " + options.device) << ":\n\n"
      << "   N   micro-batch   samples/s   peak memory   largest difference of any gradient from N "
         "= "
      << rows.front().count << '\n';
  for (const SplitRow& row : rows) {
    out << std::setw(4) << row.count << std::setw(14) << row.micro_batch << std::setw(12)
        << std::fixed << std::setprecision(0) << row.samples_per_s << std::setw(14)
        << human_bytes(row.peak_bytes) << "   ";
    if (row.identical)
      out << "0 (identical bits)";
    else
      out << std::scientific << std::setprecision(2) << row.largest_difference;
    out << '\n';
  }
}

}  // namespace accrue::tools
