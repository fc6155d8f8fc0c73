// Every operator of the table on random shapes, strides, dimensions and options (random_cases.h),
// through the laws of laws.h.
//
// Each case comes from one seed, which a failure prints. ACCRUE_SEED=n runs that case alone;
// ACCRUE_PROPERTY_CASES=n makes that many for each operator.
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/ops/laws.h"
#include "tests/ops/random_cases.h"

#include <accrue/core/factories.h>

#include <accrue/kernels/elementwise.h>

namespace accrue::testing {
namespace {

/// The same values in memory where the dimensions lie in any order, with gaps and something in
/// front, among numbers 99.
Tensor strewn(const Tensor& x, Random& r) {
  const Dims order = r.order(x.dim());
  Dims place = order, start = order, step = order, size;
  for (int k = 0; k < x.dim(); ++k) {
    const int d = static_cast<int>(order[k]);
    place[d] = k;
    start[d] = r.of<int64_t>({0, 0, 0, 1});
    step[d] = r.of<int64_t>({1, 1, 1, 2, 3});
    size.push_back(start[d] + step[d] * x.size(d));
  }
  const Tensor memory = full(size, 99, x.dtype(), x.device());
  Layout at = layout::permute(memory.layout(), place);
  for (int d = 0; d < x.dim(); ++d)
    at = layout::slice(at, d, start[d], start[d] + step[d] * x.size(d), step[d]);
  Tensor y = memory.alias(at);
  kernels::copy(x, into(y));
  return y;
}

/// Random strides of the inputs and of dy change no bit.
void expect_any_strides(const OpCase& row, Random& r) {
  const Tensors inputs = inputs_of(row, DType::float32);
  const Tensor dy = seed_for(row.f(inputs), Numbers::random);
  Tensors moved;
  for (const Tensor& x : inputs) moved.push_back(row.traits.dense_only ? x : strewn(x, r));
  const Passed dense = run(row, inputs, dy), got = run(row, moved, strewn(dy, r));
  expect_same(got.y, dense.y, "random strides, y");
  for (size_t i = 0; i < inputs.size(); ++i)
    expect_same(got.gradients[i], dense.gradients[i],
                concat("random strides, gradient of input ", i));
}

void expect_laws(OpCase row, Random& r) {
  int64_t elements = 0;
  for (const Input& x : row.inputs) elements += x.floating() ? numel(x.shape) : 0;
  row.slack = 2 + std::sqrt(static_cast<double>(elements));
  expect_value(row, DType::float32);
  expect_value(row, DType::float64);
  expect_any_layout(row, DType::float32);
  expect_any_strides(row, r);
  expect_16_bit(row, DType::bfloat16);
  if (!row.traits.differentiable) return;
  if (elements <= 400 && !row.traits.fixed_dtype) expect_gradient(row);
  expect_add_rule(row, DType::float32);
  expect_unwanted(row, DType::float32);
}

uint32_t number_of(const char* variable, uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

class Property : public ::testing::TestWithParam<RandomOp> {};

TEST_P(Property, HoldsForRandomCases) {
  const RandomOp& random_op = GetParam();
  const uint32_t only = number_of("ACCRUE_SEED", 0);
  const uint32_t cases = only != 0 ? 1 : number_of("ACCRUE_PROPERTY_CASES", 50);
  for (uint32_t i = 0; i < cases && !HasFailure(); ++i) {
    const uint32_t seed = only != 0 ? only : i + 1;
    Random random(random_op.op, seed);
    const OpCase row = random_op.make(random);
    SCOPED_TRACE(concat(row.name, "; replay with ACCRUE_SEED=", seed));
    EXPECT_EQ(row.name.substr(0, row.name.find(' ')), random_op.op);
    try {
      expect_laws(row, random);
    } catch (const Error& error) {
      ADD_FAILURE() << "threw: " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Property, ::testing::ValuesIn(random_ops()),
                         [](const auto& random) { return random.param.op; });

/// Operators of the table for which random cases make no sense, and why.
const std::map<std::string, std::string> kNeverRandom = {};

TEST(Table, EveryOperatorHasRandomCases) {
  std::set<std::string> in_table, random;
  for (const OpCase& row : all_op_cases()) in_table.insert(row.op());
  for (const RandomOp& op : random_ops())
    EXPECT_TRUE(random.insert(op.op).second) << op.op << " comes twice in random_ops()";
  EXPECT_EQ(random.erase(kViewsOfViews), 1U);
  for (const std::string& op : in_table)
    EXPECT_NE(random.count(op), kNeverRandom.count(op))
        << op << ": it must have either random cases in random_ops(), or a reason why not";
  for (const std::string& op : random)
    EXPECT_TRUE(in_table.count(op)) << op << " has no row in tests/op_cases.h";
  for (const auto& [op, reason] : kNeverRandom)
    EXPECT_TRUE(in_table.count(op)) << op << " has no row in tests/op_cases.h";
}

}  // namespace
}  // namespace accrue::testing
