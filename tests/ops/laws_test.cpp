// Every operator of the table through every law.
#include <set>

#include "tests/ops/suite.h"

namespace accrue::testing {
namespace {

#define ACCRUE_FOR_ROWS(suite, condition) \
  INSTANTIATE_TEST_SUITE_P(Ops, suite, ::testing::ValuesIn(rows_where(condition)), test_name)

class Forward : public OpTest {};
TEST_P(Forward, Float64IsTheReference) { expect_value(row(), DType::float64); }
TEST_P(Forward, Float32IsTheReferenceRounded) { expect_value(row(), DType::float32); }
TEST_P(Forward, Bfloat16IsFloat32Rounded) { expect_16_bit(row(), DType::bfloat16); }
TEST_P(Forward, Float16IsFloat32Rounded) { expect_16_bit(row(), DType::float16); }
ACCRUE_FOR_ROWS(Forward, any);

class Gradient : public OpTest {};
TEST_P(Gradient, IsTheFiniteDifference) { expect_gradient(row()); }
ACCRUE_FOR_ROWS(Gradient, [](const OpCase& row) {
  return row.traits.differentiable && !row.traits.fixed_dtype;
});

class AddRule : public OpTest {};
TEST_P(AddRule, BackwardAddsInFloat32) { expect_add_rule(row(), DType::float32); }
TEST_P(AddRule, BackwardAddsInFloat64) { expect_add_rule(row(), DType::float64); }
TEST_P(AddRule, AnUnwantedGradientChangesNoOther) { expect_unwanted(row(), DType::float32); }
ACCRUE_FOR_ROWS(AddRule, differentiable);

class Layouts : public OpTest {};
TEST_P(Layouts, ChangeNoBitInFloat32) { expect_any_layout(row(), DType::float32); }
TEST_P(Layouts, ChangeNoBitInFloat64) { expect_any_layout(row(), DType::float64); }
TEST_P(Layouts, ChangeNoBitInBfloat16) { expect_any_layout(row(), DType::bfloat16); }
ACCRUE_FOR_ROWS(Layouts, any);

class EmptyBatch : public OpTest {};
TEST_P(EmptyBatch, HasShapesAndZeroGradients) { expect_empty_batch(row(), DType::float32); }
ACCRUE_FOR_ROWS(EmptyBatch, [](const OpCase& row) {
  return std::any_of(row.inputs.begin(), row.inputs.end(),
                     [](const Input& x) { return x.batch >= 0; });
});

class Threads : public OpTest {};
TEST_P(Threads, ChangeNoBit) { expect_any_threads(row(), DType::float32); }
ACCRUE_FOR_ROWS(Threads, any);

class Refusal : public OpTest {};
TEST_P(Refusal, SaysWhatIsWrongAndChangesNothing) { expect_refusal(row()); }
ACCRUE_FOR_ROWS(Refusal, [](const OpCase& row) { return bool(row.wrong.call); });

class NoMemory : public OpTest {};
TEST_P(NoMemory, EndsInOutOfMemoryAndLosesNothing) { expect_survives_no_memory(row(), 12); }
ACCRUE_FOR_ROWS(NoMemory, any);

class Anomaly : public OpTest {};
TEST_P(Anomaly, NamesTheOperator) { expect_named_anomalies(row()); }
ACCRUE_FOR_ROWS(Anomaly, any);

TEST(AnomalyMode, ManyOperatorsWereProvoked) {
  std::set<std::string> named;
  for (const OpCase& row : all_op_cases())
    if (expect_named_anomalies(row) > 0) named.insert(row.op());
  EXPECT_GE(named.size(), 30U) << "the suite above may have checked nothing";
}

}  // namespace
}  // namespace accrue::testing
