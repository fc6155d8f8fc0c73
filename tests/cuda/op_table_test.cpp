// Every operator of tests/op_cases.h on device cuda, by the executor: each result is the
// reference's and each gradient the CPU's, whatever the layout, and no schedule changes a bit.
#include <map>
#include <set>

#include "tests/cuda/support.h"
#include "tests/ops/suite.h"

#include <accrue/core/memory.h>

#include <accrue/kernels/split_invariant.h>

namespace accrue::testing {
namespace {

bool has_batch(const OpCase& row) {
  return std::any_of(row.inputs.begin(), row.inputs.end(),
                     [](const Input& x) { return x.batch >= 0; });
}
bool has_two_inputs(const OpCase& row) { return row.inputs.size() > 1; }
bool has_wrong_call(const OpCase& row) { return bool(row.wrong.call); }

constexpr double kMostAccesses = 3e5;  // of two passes: the executor checks each

/// A law that rows are taken through, and those that it held for.
struct Law {
  bool (*applies)(const OpCase&);
  std::set<std::string> held = {}, broken = {};
};
std::map<std::string, Law>& laws() {
  static std::map<std::string, Law> all = {{"Forward", {any}},
                                           {"AsOnCpu", {any}},
                                           {"AddRule", {differentiable}},
                                           {"Layouts", {any}},
                                           {"EmptyBatch", {has_batch}},
                                           {"Refusal", {has_wrong_call}},
                                           {"OneDevice", {has_two_inputs}}};
  return all;
}

/// Tests of a row with new tensors on device cuda, and nothing reported by the executor.
class OpOnCuda : public OnExecutor, public ::testing::WithParamInterface<Row> {
 protected:
  OpOnCuda() { set_default_device(device); }
  ~OpOnCuda() override {
    set_default_device({});
    const std::string suite = ::testing::UnitTest::GetInstance()->current_test_suite()->name();
    Law& law = laws().at(suite.substr(suite.find('/') + 1));
    (HasFailure() || IsSkipped() ? law.broken : law.held).insert(row().name);
  }
  const OpCase& row() const { return *GetParam(); }

  /// Forward and two passes back equal the CPU's, and give the same bits under every schedule.
  void expect_as_on_cpu(DType dtype, std::optional<int64_t> batch = {}) {
    SCOPED_TRACE(::testing::Message() << dtype << ", batch " << batch.value_or(-1));
    set_default_device({});
    const Passed right = pass(dtype, batch);
    set_default_device(device);
    // The CPU's sums of a batch have the errors of a chain, the device's perhaps of fewer terms.
    const double times = 2 * std::sqrt(static_cast<double>(batch.value_or(1)));
    Passed first;
    under_every_schedule([&] {
      const Passed got = pass(dtype, batch);
      if (first.y.defined()) {
        expect_same(got.y, first.y, "y");
        for (size_t i = 0; i < got.gradients.size(); ++i)
          expect_same(got.gradients[i], first.gradients[i],
                      "gradient of input " + std::to_string(i));
        return;
      }
      ASSERT_EQ(got.y.shape(), right.y.shape());
      ASSERT_EQ(got.y.dtype(), right.y.dtype());
      // Element by element they are at most two units in the last place apart.
      const double of_y = row().tolerance == Tolerance::sum              ? times
                          : row().tolerance == Tolerance::transcendental ? 0.5
                                                                         : 1;
      expect_tolerated(row(), got.y, right.y.to_vector<double>(), of_y);
      expect_same_gradients(row(), got, right, times);
      for (const Tensor& g : got.gradients) EXPECT_TRUE(!g.defined() || g.device() == device);
      first = on_host(got);
    });
  }
  /// What kernels load and store in two passes, for each item of a batch.
  double accesses_of_an_item() {
    int64_t items = 1;
    for (const Input& x : row().inputs)
      if (x.batch >= 0) items = x.shape[x.batch];
    const uint64_t before = simt::counts().accesses;
    pass(DType::float32, {});
    synchronize(device);
    return static_cast<double>(simt::counts().accesses - before) / static_cast<double>(items);
  }

 private:
  Passed pass(DType dtype, std::optional<int64_t> batch) {
    const Tensors inputs = inputs_of(row(), dtype, Numbers::random, batch);
    return run(row(), inputs, seed_for(row().f(inputs), Numbers::random), 2);
  }
  static Passed on_host(Passed x) {
    x.y = to_device(x.y, {});
    for (Tensor& g : x.gradients)
      if (g.defined()) g = to_device(g, {});
    return x;
  }
};

#define ACCRUE_LAW(law)                                                                         \
  INSTANTIATE_TEST_SUITE_P(Cuda, law, ::testing::ValuesIn(rows_where(laws().at(#law).applies)), \
                           test_name)

class Forward : public OpOnCuda {};
TEST_P(Forward, Float64IsTheReference) { expect_value(row(), DType::float64); }
TEST_P(Forward, Float32IsTheReferenceRounded) { expect_value(row(), DType::float32); }
TEST_P(Forward, Bfloat16IsFloat32Rounded) { expect_16_bit(row(), DType::bfloat16); }
TEST_P(Forward, Float16IsFloat32Rounded) { expect_16_bit(row(), DType::float16); }
ACCRUE_LAW(Forward);

class AsOnCpu : public OpOnCuda {};
TEST_P(AsOnCpu, InFloat32UnderEverySchedule) {
  const uint64_t before = simt::counts().launches;
  for (bool split_invariant : {false, true}) {
    set_split_invariant(split_invariant);
    expect_as_on_cpu(DType::float32);
  }
  set_split_invariant(false);
  EXPECT_TRUE(before == 0 || simt::counts().launches > before) << "no kernel ran";
}
TEST_P(AsOnCpu, InFloat64UnderEverySchedule) { expect_as_on_cpu(DType::float64); }
TEST_P(AsOnCpu, WhateverTheSizeOfTheBatch) {
  if (!has_batch(row())) return;
  const double accesses = accesses_of_an_item();
  for (int64_t batch : {1, 33, 1000})
    if (accesses * static_cast<double>(batch) < kMostAccesses)
      expect_as_on_cpu(DType::float32, batch);
}
ACCRUE_LAW(AsOnCpu);

// Sums of fractions with split invariance, as below.
class AddRule : public OpOnCuda {
 protected:
  AddRule() { set_split_invariant(row().traits.adds == Adds::chained_fractions); }
  ~AddRule() override { set_split_invariant(false); }
};
TEST_P(AddRule, BackwardAddsInFloat32) { expect_add_rule(row(), DType::float32); }
TEST_P(AddRule, BackwardAddsInFloat64) { expect_add_rule(row(), DType::float64); }
TEST_P(AddRule, AnUnwantedGradientChangesNoOther) { expect_unwanted(row(), DType::float32); }
ACCRUE_LAW(AddRule);

// A sum's order may be that of memory. With split invariance: else the layout decides whether a
// product is cuBLAS's.
class Layouts : public OpOnCuda {
 protected:
  Layouts() { set_split_invariant(true); }
  ~Layouts() override { set_split_invariant(false); }
  double units() const { return row().tolerance == Tolerance::sum ? 4 : 0; }
};
TEST_P(Layouts, ChangeNoBitInFloat32) { expect_any_layout(row(), DType::float32, units()); }
TEST_P(Layouts, ChangeNoBitInBfloat16) { expect_any_layout(row(), DType::bfloat16, units()); }
ACCRUE_LAW(Layouts);

class EmptyBatch : public OpOnCuda {};
TEST_P(EmptyBatch, HasShapesAndZeroGradients) { expect_empty_batch(row(), DType::float32); }
ACCRUE_LAW(EmptyBatch);

class Refusal : public OpOnCuda {};
TEST_P(Refusal, SaysWhatIsWrongAndChangesNothing) { expect_refusal(row()); }
ACCRUE_LAW(Refusal);

// Each input in turn lies elsewhere: on the host, on the other device.
class OneDevice : public OpOnCuda {};
TEST_P(OneDevice, IsDemandedByNameBeforeAnythingChanges) {
  for (Device other : {Device::cpu(), Device::cuda(1)}) {
    const Tensors inputs = inputs_of(row(), DType::float32);
    for (size_t i = 0; i < inputs.size(); ++i) {
      Tensors mixed = inputs;
      mixed[i] = to_device(inputs[i], other);
      const int64_t live = memory_stats(device).total.live + memory_stats(other).total.live;
      std::string said = "nothing was thrown";
      try {
        row().f(mixed);
      } catch (const DeviceError& error) {
        said = error.what();
      }
      EXPECT_TRUE(said.starts_with(row().op() + ": the tensors are on ")) << said;
      for (Device named : {device, other})
        EXPECT_NE(said.find(detail::concat(named)), std::string::npos) << said;
      EXPECT_EQ(memory_stats(device).total.live + memory_stats(other).total.live, live);
    }
  }
}
ACCRUE_LAW(OneDevice);

/// When all tests have run: no row was left out, of no law.
class Coverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (::testing::GTEST_FLAG(filter) != "*") return;
    for (const auto& [name, law] : laws())
      for (const OpCase* row : rows_where(law.applies))
        EXPECT_TRUE(law.held.count(row->name) && !law.broken.count(row->name))
            << name << " was not shown for " << row->name;
  }
};
const ::testing::Environment* const kCoverage = ::testing::AddGlobalTestEnvironment(new Coverage);

}  // namespace
}  // namespace accrue::testing
