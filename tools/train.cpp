#include "tools/train.h"

#include <cmath>
#include <iomanip>
#include <optional>
#include <ostream>
#include <sstream>

#include "tools/dataset.h"
#include "tools/interrupt.h"
#include "tools/models.h"
#include "tools/progress.h"

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/kernels/cpu/parallel.h>

#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/ops.h>

#include <accrue/nn/module.h>
#include <accrue/optim/adam.h>
#include <accrue/optim/sgd.h>

namespace accrue::tools {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Sums over samples, from which means are made when they are shown.
struct Tally {
  double loss = 0;
  int64_t correct = 0;
  int64_t items = 0;

  // Row by row, in float64: however the rows are cut into batches, the sum has the same bits.
  void add(const Tensor& logits, const Tensor& labels, const Tensor& losses) {
    const NoGrad no_grad;
    for (const double row : losses.to_vector<double>()) loss += row;
    correct += static_cast<int64_t>(sum(argmax(logits, 1) == labels).item());
    items += labels.numel();
  }
  double mean_loss() const { return loss / static_cast<double>(std::max<int64_t>(items, 1)); }
  double accuracy() const {
    return static_cast<double>(correct) / static_cast<double>(std::max<int64_t>(items, 1));
  }
};

class Run {
 public:
  Run(const TrainOptions& options, std::ostream& out, bool terminal)
      : options_(options), line_(out, terminal) {
    check_options();
    device_ = Device::parse(options.device);
    use_threads(options.threads);
    manual_seed(options.seed);
    const Dataset data = load_fashion_mnist(fashion_mnist_folder());
    train_ = options.limit > 0 ? data.train.first(options.limit) : data.train;
    test_ = data.test;
    model_ = make_model(options.model);
    model_->to(device_);
    optimizer_ = make_optimizer(options.optimizer, *model_, options.lr);
    if (!options.out.empty()) metrics_.emplace(options.out);
  }

  RunResult run() {
    const InterruptGuard guard;
    start_ = Clock::now();
    line_.line("training " + options_.model + ", " + std::to_string(model_->num_parameters()) +
               " parameters, on " + std::to_string(train_.size()) + " images in windows of " +
               std::to_string(options_.accumulate) + " x " + std::to_string(options_.micro_batch));
    if (metrics_) metrics_->start(options_);
    RunResult result;
    for (int64_t epoch = 1; epoch <= options_.epochs; ++epoch) {
      const Tally trained = run_epoch(epoch);
      const Tally tested = evaluate(epoch);
      report(epoch, trained, tested);
      result.test_accuracy = tested.accuracy();
    }
    result.seconds = since(start_);
    result.samples_per_s = static_cast<double>(options_.epochs * train_.size()) / train_seconds_;
    result.peak_bytes = memory_stats(device_).total.peak;
    result.steps = steps_;
    if (metrics_) metrics_->end(result);
    return result;
  }

 private:
  void check_options() const {
    const auto positive = [](const char* flag, int64_t value) {
      check<ValueError>(value > 0, flag, ": ", value, "; it must be 1 or more");
    };
    check<ValueError>(options_.data == "fashion-mnist", "--data: '", options_.data,
                      "' is unknown; it is fashion-mnist");
    positive("--micro-batch", options_.micro_batch);
    positive("--accumulate", options_.accumulate);
    positive("--epochs", options_.epochs);
    constexpr int64_t most = 1'000'000'000;  // their images are counted in 64 bits
    check<ValueError>(options_.epochs <= most, "--epochs: ", options_.epochs,
                      "; it must be at most ", most);
    check<ValueError>(options_.limit >= 0, "--limit: ", options_.limit, "; it must be 0 or more");
    check<ValueError>(std::isfinite(options_.lr) && options_.lr >= 0, "--lr: ", options_.lr,
                      "; it must be a finite number, 0 or more");
  }

  // One pass over the training images in a new order, window by window.
  Tally run_epoch(int64_t epoch) {
    const auto start = Clock::now();
    const Tensor order = randperm(train_.size());
    const int64_t n = train_.size();
    Tally tally;
    int64_t items = 0;   // samples whose gradients the window has summed so far
    int64_t filled = 0;  // micro-batches of the window so far
    for (int64_t i = 0; i < n; i += options_.micro_batch) {
      if (interrupted()) stop(epoch, i);
      const int64_t size = std::min(options_.micro_batch, n - i);
      micro_step(make_batch(train_, narrow(order, 0, i, size), device_), tally);
      items += size;
      if (++filled == options_.accumulate || i + size == n) {
        optimizer_->step({.grad_scale = 1.0 / static_cast<double>(items)});
        optimizer_->zero_grad();
        ++steps_;
        items = filled = 0;
      }
      line_.show({.epoch = epoch,
                  .epochs = options_.epochs,
                  .done = i + size,
                  .total = n,
                  .loss = tally.mean_loss(),
                  .accuracy = tally.accuracy(),
                  .samples_per_s = static_cast<double>(tally.items) / since(start),
                  .peak_bytes = memory_stats(device_).total.peak});
    }
    train_seconds_ += since(start);
    return tally;
  }

  void micro_step(const Batch& batch, Tally& tally) {
    const Tensor logits = (*model_)(batch.images);
    const Tensor losses = losses_of(logits, batch.labels);
    sum(losses).backward();
    tally.add(logits, batch.labels, losses);
    check_finite(tally);
  }

  Tally evaluate(int64_t epoch) {
    constexpr int64_t batch = 250;
    const NoGrad no_grad;
    model_->eval();
    Tally tally;
    for (int64_t i = 0; i < test_.size(); i += batch) {
      if (interrupted()) stop(epoch, train_.size());
      const double end = static_cast<double>(std::min(i + batch, test_.size()));
      const auto [images, labels] = make_batch(test_, arange(static_cast<double>(i), end), device_);
      const Tensor logits = (*model_)(images);
      tally.add(logits, labels, losses_of(logits, labels));
    }
    check_finite(tally);
    model_->train();
    return tally;
  }

  static Tensor losses_of(const Tensor& logits, const Tensor& labels) {
    return cross_entropy(logits, labels, {.reduction = Reduction::none});
  }

  void check_finite(const Tally& tally) const {
    check<ValueError>(std::isfinite(tally.loss), "train: the loss is ", tally.loss, " after ",
                      steps_, " optimizer steps; lower --lr");
  }

  void report(int64_t epoch, const Tally& trained, const Tally& tested) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(4) << "epoch " << epoch << "/" << options_.epochs
         << " done  loss " << trained.mean_loss() << "  test loss " << tested.mean_loss()
         << "  test accuracy " << std::setprecision(2) << 100 * tested.accuracy() << "%  " << steps_
         << " optimizer steps";
    line_.line(text.str());
    if (metrics_)
      metrics_->epoch({.epoch = epoch,
                       .steps = steps_,
                       .train_loss = trained.mean_loss(),
                       .train_accuracy = trained.accuracy(),
                       .test_loss = tested.mean_loss(),
                       .test_accuracy = tested.accuracy(),
                       .seconds = since(start_)});
  }

  [[noreturn]] void stop(int64_t epoch, int64_t samples) const {
    throw Interrupted(detail::concat(
        "interrupted in epoch ", epoch, " after ", samples, " of ", train_.size(), " samples",
        metrics_ ? "; the lines so far are in " + metrics_->provisional_path() : std::string()));
  }

  TrainOptions options_;
  Device device_;
  ProgressLine line_;
  Split train_, test_;
  std::shared_ptr<nn::Module> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<MetricsFile> metrics_;
  Clock::time_point start_;
  double train_seconds_ = 0;
  int64_t steps_ = 0;
};

}  // namespace

void use_threads(int threads) {
  constexpr int most = 1024;
  check<ValueError>(threads >= 0 && threads <= most, "--threads: ", threads, "; it must be 1 to ",
                    most, ", or 0 for one for each core");
  if (threads > 0) set_num_threads(threads);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, nn::Module& model,
                                                 double lr) {
  const auto parameters = model.named_parameters();
  if (name == "sgd")
    return std::make_unique<optim::SGD>(parameters, optim::SGDOptions{.lr = lr, .momentum = 0.9});
  if (name == "adam")
    return std::make_unique<optim::Adam>(parameters, optim::AdamOptions{.lr = lr});
  if (name == "adamw")
    return std::make_unique<optim::AdamW>(parameters, optim::AdamWOptions{.lr = lr});
  throw ValueError("--optimizer: '" + name + "' is unknown; it is sgd, adam or adamw");
}

RunResult train(const TrainOptions& options, std::ostream& out, bool terminal) {
  return Run(options, out, terminal).run();
}

}  // namespace accrue::tools
