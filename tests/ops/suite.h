// OP_SUITE: a test of one law, once for each row of the table; its name on failure is
// Suite.Test/operator_use.
#pragma once
#include <algorithm>

#include "tests/ops/laws.h"

namespace accrue::testing {

using Row = const OpCase*;

inline std::vector<Row> rows_where(bool (*condition)(const OpCase&)) {
  std::vector<Row> some;
  for (const OpCase& row : all_op_cases())
    if (condition(row)) some.push_back(&row);
  return some;
}
inline bool any(const OpCase&) { return true; }
inline bool differentiable(const OpCase& row) { return row.traits.differentiable; }

class OpTest : public ::testing::TestWithParam<Row> {
 protected:
  const OpCase& row() const { return *GetParam(); }
};

inline std::string test_name(const ::testing::TestParamInfo<Row>& info) {
  std::string name = info.param->name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace accrue::testing

namespace accrue {
inline void PrintTo(const testing::OpCase* row, std::ostream* out) { *out << row->name; }
}  // namespace accrue
