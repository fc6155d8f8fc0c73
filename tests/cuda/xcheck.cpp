// Every operator of the table on device cuda, a line each: a GPU, or the executor, which is linked
// in its place.
//
//   xcheck                  how far result and gradients are from the CPU's, in units in the last
//                           place of the largest element, and how far they may be
//   xcheck --hash           a hash of result and gradients, to compare with another run
//   --small                 the table's own sizes; otherwise also batches of 33 and 1000
//   --split-invariant       sums over a batch in the order of its rows, and no cuBLAS
//   --order reverse|random  the executor's schedule
//   --op NAME               only rows whose name begins so
//
// Ends with 1 if a row is too far off, throws, or made the executor report something.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "tests/ops/laws.h"

#include <accrue/core/stream.h>

#include <accrue/kernels/simt/control.h>
#include <accrue/kernels/split_invariant.h>

namespace accrue::testing {
namespace {

struct Options {
  bool hash = false, small = false, split_invariant = false;
  simt::Order order = simt::Order::forward;
  std::string op;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&] {
      check<ValueError>(i + 1 < argc, flag, ": a value is missing");
      return std::string(argv[++i]);
    };
    if (flag == "--hash") {
      options.hash = true;
    } else if (flag == "--small") {
      options.small = true;
    } else if (flag == "--split-invariant") {
      options.split_invariant = true;
    } else if (flag == "--op") {
      options.op = value();
    } else if (flag == "--order") {
      options.order = value() == "random" ? simt::Order::random : simt::Order::reverse;
    } else {
      throw ValueError(flag + ": unknown; see tests/cuda/xcheck.cpp");
    }
  }
  return options;
}

const char* name_of(Tolerance tolerance) {
  switch (tolerance) {
    case Tolerance::exact:
      return "exact";
    case Tolerance::rounded:
      return "rounded";
    case Tolerance::transcendental:
      return "transcendental";
    default:
      return "sum";
  }
}

using Values = std::vector<std::vector<double>>;  // the result, then each gradient there is

Values pass(const OpCase& row, std::optional<int64_t> batch) {
  const Tensors inputs = inputs_of(row, DType::float32, Numbers::random, batch);
  const Passed passed = run(row, inputs, seed_for(row.f(inputs), Numbers::random));
  Values all = {passed.y.to_vector<double>()};
  for (const Tensor& g : passed.gradients)
    if (g.defined()) all.push_back(g.to_vector<double>());
  return all;
}

uint64_t hash_of(const Values& all) {
  uint64_t hash = 14695981039346656037U;
  for (const auto& v : all)
    for (double number : v) {
      uint64_t bits = 0;
      std::memcpy(&bits, &number, sizeof bits);
      hash = (hash ^ (std::isnan(number) ? 0x7ff8 : bits)) * 1099511628211U;
    }
  return hash;
}

/// |got - right|, in units in the last place of float32 of the largest |right|.
double units_between(const std::vector<double>& got, const std::vector<double>& right) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(right[i])) continue;
    if (std::isnan(got[i]) != std::isnan(right[i])) return INFINITY;
    if (got[i] != right[i]) difference = std::max(difference, std::abs(got[i] - right[i]));
    if (std::isfinite(right[i])) largest = std::max(largest, std::abs(right[i]));
  }
  return difference == 0 ? 0 : difference / (largest * 0x1p-23);
}

/// Of a result; the elements of a gradient may be sums over the batch whatever the operator.
double limit_of(const OpCase& row, int64_t batch, bool gradient) {
  const double sum = 16 * std::sqrt(static_cast<double>(batch));
  if (gradient || row.tolerance == Tolerance::sum) return sum;
  return row.tolerance == Tolerance::exact ? 0 : row.tolerance == Tolerance::rounded ? 4 : 8;
}

/// Whether it is close enough; prints how close.
bool compare(const OpCase& row, const Values& got, const Values& right, int64_t batch) {
  double result = 0, gradients = 0;
  bool good = got.size() == right.size();
  for (size_t i = 0; good && i < got.size(); ++i) {
    const double units = units_between(got[i], right[i]);
    double& worst = i == 0 ? result : gradients;
    worst = std::max(worst, units);
    good = units <= limit_of(row, batch, i > 0);
  }
  std::printf("%-30s %5ld  %-14s result %8.3g  gradients %8.3g  %s\n", row.name.c_str(),
              static_cast<long>(batch), name_of(row.tolerance), result, gradients,
              good ? "ok" : "TOO FAR");
  return good;
}

bool check_row(const OpCase& row, std::optional<int64_t> batch, const Options& options,
               Device device) {
  set_default_device(device);
  const Values got = pass(row, batch);
  const long n = batch.value_or(1);
  if (options.hash) {
    std::printf("%-30s %5ld  %-14s %016lx\n", row.name.c_str(), n, name_of(row.tolerance),
                hash_of(got));
    return true;
  }
  set_default_device({});
  return compare(row, got, pass(row, batch), n);
}

std::vector<std::optional<int64_t>> batches_of(const OpCase& row, bool small) {
  if (small) return {std::nullopt};
  for (const Input& x : row.inputs)
    if (x.batch >= 0) return {std::nullopt, 33, 1000};
  return {std::nullopt};
}

int xcheck(const Options& options) {
  const Device device = Device::cuda();
  std::fprintf(stderr, "%s\n", describe_cuda().c_str());
  set_split_invariant(options.split_invariant);
  simt::set_schedule({.order = options.order});
  int passed = 0, failed = 0;
  for (const OpCase& row : all_op_cases()) {
    if (!row.name.starts_with(options.op)) continue;
    for (const auto& batch : batches_of(row, options.small)) {
      bool good = false;
      try {
        good = check_row(row, batch, options, device);
      } catch (const Error& error) {
        std::printf("%-30s FAILED %s\n", row.name.c_str(), error.what());
      }
      ++(good ? passed : failed);
    }
  }
  synchronize(device);
  std::fflush(stdout);
  const size_t reports = simt::take_reports().size();
  std::fprintf(stderr, "%d passed, %d failed, %zu reports\n", passed, failed, reports);
  return failed == 0 && passed > 0 && reports == 0 ? 0 : 1;
}

}  // namespace
}  // namespace accrue::testing

int main(int argc, char** argv) {
  try {
    return accrue::testing::xcheck(accrue::testing::parse(argc, argv));
  } catch (const accrue::Error& error) {
    std::cerr << "xcheck: " << error.what() << '\n';
    return 2;
  }
}
