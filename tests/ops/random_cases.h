// Random cases for each operator of the table: shapes, dimensions and options from one seed, and
// the reference for them. What they must obey is in laws.h; property_test.cpp takes them there.
#pragma once
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/ops/op_case.h"

#include <accrue/core/error.h>

namespace accrue::testing {

/// Random choices, the same each time for one operator and seed.
class Random {
 public:
  Random(const std::string& op, uint32_t seed);
  int64_t whole(int64_t low, int64_t high) {  // both included
    return std::uniform_int_distribution<int64_t>(low, high)(bits_);
  }
  bool one_in(int64_t n) { return whole(1, n) == 1; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return all.begin()[whole(0, static_cast<int64_t>(all.size()) - 1)];
  }
  /// Sizes whose product is at most `most`; some are 0 if `nothing` may be.
  Dims shape(int least_rank, int most_rank, int64_t most, bool nothing = false);
  /// A shape that stretches to `full`.
  Dims stretching_to(const Dims& full);
  /// A shape of `n` elements.
  Dims shape_of(int64_t n);
  /// 0 .. n - 1 in any order.
  Dims order(int n);
  int dim(const Dims& shape) { return static_cast<int>(whole(0, shape.size() - 1)); }
  /// The dimension `d` of `rank`, counted from the front or from the back.
  int64_t called(int d, int rank) { return one_in(3) ? d - rank : d; }

 private:
  std::mt19937 bits_;
};

using detail::concat;

/// Makes cases of one operator; each case's name begins with the operator's.
struct RandomOp {
  std::string op;
  std::function<OpCase(Random&)> make;
};
inline void PrintTo(const RandomOp& random, std::ostream* out) { *out << random.op; }

/// One for each operator of the table, and one more for views of views.
const std::vector<RandomOp>& random_ops();
inline constexpr const char* kViewsOfViews = "views_of_views";

}  // namespace accrue::testing
