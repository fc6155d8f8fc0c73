// The `accrue` command: what its flags mean, and what each error becomes: one sentence on stderr.
#include <iostream>

#include "tools/doctor.h"
#include "tools/splits.h"
#include "tools/train.h"
#include <CLI/CLI.hpp>
#include <unistd.h>

#include <accrue/version.h>

namespace {

using namespace accrue::tools;

constexpr int kFailed = 1;
constexpr int kMisused = 2;
constexpr int kInterrupted = 130;

void add_train(CLI::App& app, TrainOptions& o) {
  app.add_option("--data", o.data, "fashion-mnist")->capture_default_str();
  app.add_option("--model", o.model, "mlp or cnn")->capture_default_str();
  app.add_option("--micro-batch", o.micro_batch, "samples in a micro-batch")->capture_default_str();
  app.add_option("--accumulate", o.accumulate, "micro-batches in a window: one optimizer step")
      ->capture_default_str();
  app.add_option("--epochs", o.epochs)->capture_default_str();
  app.add_option("--optimizer", o.optimizer, "sgd, adam or adamw")->capture_default_str();
  app.add_option("--lr", o.lr, "learning rate")->capture_default_str();
  app.add_option("--seed", o.seed)->capture_default_str();
  app.add_option("--threads", o.threads, "0: one for each core")->capture_default_str();
  app.add_option("--device", o.device, "cpu or cuda")->capture_default_str();
  app.add_option("--out", o.out, "folder for metrics.jsonl");
  app.add_option("--limit", o.limit, "train on the first images only; 0: all")
      ->capture_default_str();
}

void add_splits(CLI::App& app, SplitOptions& o) {
  app.add_option("--model", o.model, "mlp or cnn")->capture_default_str();
  app.add_option("--batch", o.batch, "samples in the global batch")->capture_default_str();
  app.add_option("--counts", o.counts, "numbers of micro-batches")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "measured for each row")->capture_default_str();
  app.add_option("--seed", o.seed)->capture_default_str();
  app.add_option("--threads", o.threads, "0: one for each core")->capture_default_str();
}

void print_result(const TrainOptions& options, const RunResult& r) {
  std::cout << "test accuracy " << 100 * r.test_accuracy << "%, " << r.steps
            << " optimizer steps in " << r.seconds << " s, " << r.samples_per_s
            << " training samples/s, peak " << r.peak_bytes << " bytes\n";
  if (!options.out.empty()) std::cout << "measured values: " << options.out << "/metrics.jsonl\n";
}

int run(int argc, char** argv) {
  CLI::App app{"accrue: tensors and tape autograd in which backward() adds"};
  app.set_version_flag("--version", ACCRUE_VERSION);
  app.require_subcommand(1);
  TrainOptions train_options;
  CLI::App* train_command = app.add_subcommand("train", "Train a model with gradient accumulation");
  add_train(*train_command, train_options);
  SplitOptions split_options;
  CLI::App* splits_command =
      app.add_subcommand("splits", "Cut one batch into N micro-batches, and compare");
  add_splits(*splits_command, split_options);
  const CLI::App* doctor_command =
      app.add_subcommand("doctor", "What this build and this machine can do");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::cerr << "accrue: " << error.what() << "; see accrue --help\n";
    return kMisused;
  }
  if (*train_command)
    print_result(train_options, train(train_options, std::cout, isatty(STDOUT_FILENO) == 1));
  if (*splits_command) print_splits(split_options, measure_splits(split_options), std::cout);
  if (*doctor_command) print_doctor(std::cout);
  std::cout.flush();
  accrue::check<accrue::FileError>(std::cout.good(), "cannot write to standard output");
  return 0;
}

int report(const std::exception& error, int code) {
  std::cerr << "accrue: " << error.what() << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Interrupted& error) {
    std::cerr << '\n';
    return report(error, kInterrupted);
  } catch (const accrue::ValueError& error) {
    return report(error, kMisused);
  } catch (const std::exception& error) {
    return report(error, kFailed);
  }
}
