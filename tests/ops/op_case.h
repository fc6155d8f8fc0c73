// A row of the table of operators (tests/op_cases.h), and what a row is made of.
//
// A row says what an operator computes; the laws that every operator obeys are in laws.h, and each
// suite of this folder takes every row through some of them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <accrue/core/tensor.h>

namespace accrue::testing {

/// An input's numbers, in float64: what references work on. Naive on purpose.
struct Array {
  Dims shape;
  std::vector<double> v;

  double operator()(const Dims& index) const {
    int64_t at = 0;
    for (int d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
    return v[static_cast<size_t>(at)];
  }
};

/// What an input's numbers are. Floating ones stay 0.02 away from every multiple of 1/4, where the
/// kinks of the table are.
enum class Kind : uint8_t {
  plain,     ///< in (-2, 2)
  positive,  ///< in (0.25, 2)
  unit,      ///< in (-1, 1)
  distinct,  ///< no two within 0.01 of each other
  boolean,
  index,  ///< whole numbers in [0, bound)
};

struct Input {
  Dims shape;
  Kind kind = Kind::plain;
  int batch = 0;  ///< which dimension counts the items of a batch; -1: it does not grow with it
  bool wants_grad = true;
  int64_t bound = 0;

  bool floating() const { return kind != Kind::boolean && kind != Kind::index; }
};

/// One row, item, image ... for each element of dimension `batch`.
inline Input items(const Dims& shape, Kind kind = Kind::plain, int batch = 0) {
  return {shape, kind, batch};
}
/// The same for every item: a weight, say.
inline Input shared(const Dims& shape, Kind kind = Kind::plain) { return {shape, kind, -1}; }
/// Takes no gradient.
inline Input constant(Input x) {
  x.wants_grad = false;
  return x;
}
inline Input booleans(const Dims& shape, int batch = 0) {
  return {shape, Kind::boolean, batch, false};
}
inline Input indices(const Dims& shape, int64_t bound, int batch = 0) {
  return {shape, Kind::index, batch, false, bound};
}

/// How far a result may be from the reference.
enum class Tolerance : uint8_t {
  exact,           ///< the operator only moves numbers
  rounded,         ///< a few roundings: 2 units in the last place of each element
  transcendental,  ///< 4 units
  sum,             ///< many terms: relative to the largest element of the result
};

using Tensors = std::vector<Tensor>;
using Arrays = std::vector<Array>;
using OpFunction = std::function<Tensor(const Tensors&)>;
using OpReference = std::function<Array(const Arrays&)>;

/// A call that must throw, on x = ones({2, 3}) with requires_grad, and a part of what it says.
struct WrongCall {
  std::function<Tensor(const Tensor& x)> call;
  std::string text;
};

/// What a second backward makes of a gradient.
enum class Adds : uint8_t {
  bitwise,           ///< exactly twice the first
  chained,           ///< its sum goes on from the old content: exactly twice for whole numbers
  chained_fractions  ///< the same, of terms that are never whole: twice to rounding
};

struct OpTraits {
  Adds adds = Adds::bitwise;
  /// There is no result for a batch of nothing: ShapeError.
  bool nothing_of_nothing = false;
  /// Takes dense inputs only, as view() does.
  bool dense_only = false;
  /// The result's layout is the input's, or the result is not floating: no gradient.
  bool differentiable = true;
  /// Computes in float32 whatever the input (a cast): not for float64 laws.
  bool fixed_dtype = false;
  /// The operator on the tape that anomaly mode names, where it is not the row's own.
  std::string node = {};
};

struct OpCase {
  std::string name;  ///< "matmul/vector": the operator, and which way it is used
  std::vector<Input> inputs;
  OpFunction f;
  OpReference reference;
  Tolerance tolerance = Tolerance::rounded;
  WrongCall wrong = {};
  OpTraits traits = {};
  /// Of a random case: long sums, and results far smaller than their terms, round more.
  double slack = 1;

  std::string op() const { return name.substr(0, name.find('/')); }
};

/// The table, made once.
const std::vector<OpCase>& all_op_cases();

}  // namespace accrue::testing
