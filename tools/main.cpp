// The `accrue` command: what its flags mean, and what each error becomes: one sentence on stderr.
#include <charconv>
#include <csignal>
#include <iostream>
#include <string>
#include <type_traits>

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

/// What is wrong with a text that shall be a T, whole and in its range; empty if nothing is.
template <class T>
std::string no_number(const std::string& text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && at == end) return "";
  std::string range = "a number that fits in a double";
  if constexpr (std::is_integral_v<T>)
    range = std::string("a whole number") + (std::is_unsigned_v<T> ? ", 0 or more," : "") +
            " that fits in " + std::to_string(8 * sizeof(T)) + " bits";
  return "'" + text + "'; it must be " + range;
}

template <class T>
void add_number(CLI::App& app, const char* flag, T& value, const char* what) {
  app.add_option(flag, value, what)->check(no_number<T>)->capture_default_str();
}

void add_train(CLI::App& app, TrainOptions& o) {
  app.add_option("--data", o.data, "fashion-mnist")->capture_default_str();
  app.add_option("--model", o.model, "mlp or cnn")->capture_default_str();
  add_number(app, "--micro-batch", o.micro_batch, "samples in a micro-batch");
  add_number(app, "--accumulate", o.accumulate, "micro-batches in a window: one optimizer step");
  add_number(app, "--epochs", o.epochs, "passes over the images");
  app.add_option("--optimizer", o.optimizer, "sgd, adam or adamw")->capture_default_str();
  add_number(app, "--lr", o.lr, "learning rate");
  add_number(app, "--seed", o.seed, "of the initial values and of the order of the images");
  add_number(app, "--threads", o.threads, "0: one for each core");
  app.add_option("--device", o.device, "cpu or cuda")->capture_default_str();
  app.add_option("--out", o.out, "folder for metrics.jsonl");
  add_number(app, "--limit", o.limit, "train on the first images only; 0: all");
}

void add_splits(CLI::App& app, SplitOptions& o) {
  app.add_option("--model", o.model, "mlp or cnn")->capture_default_str();
  add_number(app, "--batch", o.batch, "samples in the global batch");
  app.add_option("--counts", o.counts, "numbers of micro-batches")
      ->delimiter(',')
      ->check(no_number<int64_t>)
      ->capture_default_str();
  add_number(app, "--seconds", o.seconds, "measured for each row");
  add_number(app, "--seed", o.seed, "of the initial values");
  add_number(app, "--threads", o.threads, "0: one for each core");
  app.add_option("--device", o.device, "cpu or cuda")->capture_default_str();
  app.add_flag("--split-invariant", o.split_invariant, "identical bits on cuda too");
}

void print_result(const TrainOptions& options, const RunResult& r) {
  std::cout << "test accuracy " << 100 * r.test_accuracy << "%, " << r.steps
            << " optimizer steps in " << r.seconds << " s, " << r.samples_per_s
            << " training samples/s, peak " << r.peak_bytes << " bytes\n";
  if (!options.out.empty()) std::cout << "measured values: " << options.out << "/metrics.jsonl\n";
}

/// One line, whatever a file name or an argument may have brought into it.
int report(const std::string& sentence, int code) {
  constexpr unsigned char first_printable = 0x20, del = 0x7f;
  std::cerr << "accrue: ";
  for (const char c : sentence) {
    const auto byte = static_cast<unsigned char>(c);
    std::cerr << (byte < first_printable || byte == del ? '?' : c);
  }
  std::cerr << '\n';
  return code;
}

int run(int argc, char** argv) {
  CLI::App app{"accrue: tensors and tape autograd in which backward() adds"};
  app.set_version_flag("--version", ACCRUE_VERSION);
  app.require_subcommand(0, 1);
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
    return report(std::string(error.what()) + "; see accrue --help", kMisused);
  }
  if (app.get_subcommands().empty())
    return report("no command is given; it is train, splits or doctor, see accrue --help",
                  kMisused);
  if (*train_command)
    print_result(train_options, train(train_options, std::cout, isatty(STDOUT_FILENO) == 1));
  if (*splits_command) print_splits(split_options, measure_splits(split_options), std::cout);
  if (*doctor_command) print_doctor(std::cout);
  std::cout.flush();
  accrue::check<accrue::FileError>(std::cout.good(), "cannot write to standard output");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then an error like a full disk
  try {
    return run(argc, argv);
  } catch (const Interrupted& error) {
    return report(error.what(), kInterrupted);
  } catch (const accrue::ValueError& error) {
    return report(error.what(), kMisused);
  } catch (const accrue::DeviceError& error) {
    return report(error.what(), kMisused);
  } catch (const std::exception& error) {
    return report(error.what(), kFailed);
  }
}
