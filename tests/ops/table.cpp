#include "tests/op_cases.h"

namespace accrue::testing {
const std::vector<OpCase>& all_op_cases() {
  static const std::vector<OpCase> all = op_cases();
  return all;
}
}  // namespace accrue::testing
