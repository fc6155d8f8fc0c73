// What operators give at the edges: NaN, infinities, both zeros, the smallest and the largest
// numbers, ties, kinks and poles. The tables are data: value and slope by the rules of
// arithmetic, or by a policy where there is a choice:
//   - NaN goes in and NaN comes out, in vectors of any length.
//   - Equal elements share the gradient of a maximum evenly; where an index is the result, all goes
//     to the first of them.
//   - The slope at a kink is 0 (|x|, relu), or 1 on the border of clamp.
//   - At a pole the slope is infinite, and a gradient of exactly 0 that meets it gives 0.
// Read next: special_places_test.cpp.
#include "tests/ops/special_values.h"

#include <cmath>
#include <limits>
#include <utility>

#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

struct Point {
  double x, y, slope;
};
/// The point x of functions that are smooth there, by their definitions in more digits.
long double logistic(long double x) { return 1 / (1 + std::exp(-x)); }
Point softplus_at(long double x, long double beta) {
  return {static_cast<double>(x), static_cast<double>(std::log1p(std::exp(beta * x)) / beta),
          static_cast<double>(logistic(beta * x))};
}
/// y = x · s, where s has the slope ds
Point product_at(long double x, long double s, long double ds) {
  return {static_cast<double>(x), static_cast<double>(x * s), static_cast<double>(s + x * ds)};
}
Point silu_at(long double x) { return product_at(x, logistic(x), logistic(x) * logistic(-x)); }
Point gelu_at(long double x) {
  return product_at(x, std::erfc(-x / std::sqrt(2.0L)) / 2,
                    std::exp(-x * x / 2) / std::sqrt(2 * kPi));
}
Point gelu_by_tanh_at(long double x) {
  const long double a = std::sqrt(2 / kPi), z = std::tanh(a * (x + 0.044715L * x * x * x));
  return product_at(x, (1 + z) / 2, (1 - z * z) / 2 * a * (1 + 0.134145L * x * x));
}

struct UnaryTable {
  const char* op;
  Tensor (*f)(const Tensor&);
  double elsewhere;  ///< a harmless number for the other elements
  std::vector<Point> points;
  bool zero_meets_infinity = false;  ///< dy = 0 gives NaN at an infinite value that is no pole
};

// clang-format off
std::vector<UnaryTable> unary_tables(DType t) {
  const double tiny = least(t), small = 1024 * tiny, big = most(t);
  return {
      {"neg", neg, 1, {{0, 0, -1}, {kInf, -kInf, -1}, {-kInf, kInf, -1}, {tiny, -tiny, -1}, {big, -big, -1}, {kNan, kNan, kFree}}},
      {"abs", abs, 1, {{0, 0, 0}, {-0.0, 0, 0}, {kInf, kInf, 1}, {-kInf, kInf, -1}, {tiny, tiny, 1}, {-tiny, tiny, -1}, {-big, big, -1}, {kNan, kNan, kFree}}},
      {"exp", exp, 1, {{0, 1, 1}, {-0.0, 1, 1}, {1, std::exp(1), std::exp(1)}, {kInf, kInf, kInf}, {-kInf, 0, 0}, {tiny, 1, 1}, {big, kInf, kInf}, {-big, 0, 0}, {kNan, kNan, kNan}}, true},
      {"log", log, 2, {{0, -kInf, kInf}, {-0.0, -kInf, kFree}, {1, 0, 1}, {kInf, kInf, 0}, {-1, kNan, kFree}, {-kInf, kNan, kFree}, {tiny, std::log(tiny), kInf}, {big, std::log(big), 1 / big}, {kNan, kNan, kNan}}},
      {"sqrt", sqrt, 2, {{0, 0, kInf}, {-0.0, 0, kFree}, {1, 1, 0.5}, {kInf, kInf, 0}, {-1, kNan, kFree}, {-kInf, kNan, kFree}, {tiny, std::sqrt(tiny), 0.5 / std::sqrt(tiny)}, {big, std::sqrt(big), 0.5 / std::sqrt(big)}, {kNan, kNan, kNan}}},
      {"sin", sin, 1, {{0, 0, 1}, {-0.0, 0, 1}, {kInf, kNan, kNan}, {-kInf, kNan, kNan}, {tiny, tiny, 1}, {1e5, std::sin(1e5), std::cos(1e5)}, {big, std::sin(big), std::cos(big)}, {kNan, kNan, kNan}}},
      {"cos", cos, 1, {{0, 1, 0}, {-0.0, 1, 0}, {kInf, kNan, kNan}, {-kInf, kNan, kNan}, {tiny, 1, -tiny}, {1e5, std::cos(1e5), -std::sin(1e5)}, {big, std::cos(big), -std::sin(big)}, {kNan, kNan, kNan}}},
      {"tanh", tanh, 1, {{0, 0, 1}, {-0.0, 0, 1}, {kInf, 1, 0}, {-kInf, -1, 0}, {tiny, tiny, 1}, {big, 1, 0}, {-big, -1, 0}, {kNan, kNan, kNan}}},
      {"sigmoid", sigmoid, 1, {{0, 0.5, 0.25}, {-0.0, 0.5, 0.25}, {kInf, 1, 0}, {-kInf, 0, 0}, {tiny, 0.5, 0.25}, {big, 1, 0}, {-big, 0, 0}, {kNan, kNan, kNan}}},
      {"relu", relu, 1, {{0, 0, 0}, {-0.0, 0, 0}, {kInf, kInf, 1}, {-kInf, 0, 0}, {tiny, tiny, 1}, {-tiny, 0, 0}, {big, big, 1}, {-big, 0, 0}, {kNan, kNan, kFree}}},
      {"silu", silu, 1, {{0, 0, 0.5}, {-0.0, 0, 0.5}, {kInf, kInf, 1}, {-kInf, 0, 0}, silu_at(1), silu_at(-1), {tiny, 0, 0.5}, {small, small / 2, 0.5}, {-small, -small / 2, 0.5}, {big, big, 1}, {-big, 0, 0}, {kNan, kNan, kNan}}},
      {"softplus", [](const Tensor& x) { return softplus(x); }, 1, {{0, std::log(2), 0.5}, {-0.0, std::log(2), 0.5}, softplus_at(1, 1), softplus_at(-1, 1), softplus_at(-80, 1), {kInf, kInf, 1}, {-kInf, 0, 0}, {tiny, std::log(2), 0.5}, {-small, std::log(2), 0.5}, {big, big, 1}, {-big, 0, 0}, {kNan, kNan, kNan}}},
      {"softplus with beta 4", [](const Tensor& x) { return softplus(x, 4); }, 1, {{0, std::log(2) / 4, 0.5}, {-0.0, std::log(2) / 4, 0.5}, softplus_at(0.25, 4), softplus_at(-20, 4), {kInf, kInf, 1}, {-kInf, 0, 0}, {tiny, std::log(2) / 4, 0.5}, {big, big, 1}, {-big, 0, 0}, {kNan, kNan, kNan}}},
      {"gelu", [](const Tensor& x) { return gelu(x); }, 1, {{0, 0, 0.5}, {-0.0, 0, 0.5}, {kInf, kInf, 1}, {-kInf, 0, 0}, gelu_at(1), gelu_at(-1), {tiny, 0, 0.5}, {small, small / 2, 0.5}, {-small, -small / 2, 0.5}, {big, big, 1}, {-big, 0, 0}, {kNan, kNan, kNan}}},
      {"gelu by tanh", [](const Tensor& x) { return gelu(x, GeluApproximation::tanh); }, 1, {{0, 0, 0.5}, {-0.0, 0, 0.5}, {kInf, kInf, 1}, {-kInf, 0, 0}, gelu_by_tanh_at(1), gelu_by_tanh_at(-1), {tiny, 0, 0.5}, {small, small / 2, 0.5}, {-small, -small / 2, 0.5}, {big, big, 1}, {-big, 0, 0}, {kNan, kNan, kNan}}},
      {"clamp to [-1, 1]", [](const Tensor& x) { return clamp(x, -1, 1); }, 0.5, {{1, 1, 1}, {-1, -1, 1}, {0, 0, 1}, {kInf, 1, 0}, {-kInf, -1, 0}, {tiny, tiny, 1}, {big, 1, 0}, {kNan, kNan, kFree}}},
      {"x^2", [](const Tensor& x) { return pow(x, 2); }, 1, {{0, 0, 0}, {-0.0, 0, 0}, {kInf, kInf, kInf}, {-kInf, kInf, -kInf}, {-2, 4, -4}, {tiny, 0, 2 * tiny}, {big, kInf, kInf}, {kNan, kNan, kNan}}},
      {"x^3", [](const Tensor& x) { return pow(x, 3); }, 1, {{0, 0, 0}, {-2, -8, 12}, {-kInf, -kInf, kInf}, {big, kInf, kInf}, {kNan, kNan, kNan}}},
      {"x^0", [](const Tensor& x) { return pow(x, 0); }, 1, {{0, 1, 0}, {-0.0, 1, 0}, {kInf, 1, 0}, {-kInf, 1, 0}, {big, 1, 0}}},
      {"x^0.5", [](const Tensor& x) { return pow(x, 0.5); }, 1, {{0, 0, kInf}, {kInf, kInf, 0}, {-1, kNan, kFree}, {big, std::sqrt(big), 0.5 / std::sqrt(big)}, {kNan, kNan, kNan}}},
      {"x^-1", [](const Tensor& x) { return pow(x, -1); }, 1, {{0, kInf, -kInf}, {-0.0, -kInf, -kInf}, {kInf, 0, 0}, {-kInf, 0, 0}, {kNan, kNan, kNan}}},
      {"x^1.5", [](const Tensor& x) { return pow(x, 1.5); }, 1, {{0, 0, 0}, {kInf, kInf, kInf}, {-1, kNan, kFree}, {4, 8, 3}, {kNan, kNan, kNan}}},
      {"1 / x", [](const Tensor& x) { return 1.0 / x; }, 1, {{0, kInf, -kInf}, {-0.0, -kInf, -kInf}, {kInf, 0, 0}, {-kInf, 0, 0}, {big, 1 / big, kFree}, {kNan, kNan, kNan}}},
      {"2^x", [](const Tensor& x) { return pow(2, x); }, 1, {{0, 1, std::log(2)}, {kInf, kInf, kInf}, {-kInf, 0, 0}, {3, 8, 8 * std::log(2)}, {big, kInf, kInf}, {-big, 0, 0}, {kNan, kNan, kNan}}},
      {"0^x", [](const Tensor& x) { return pow(0, x); }, 1, {{0, 1, 0}, {2, 0, 0}, {kInf, 0, 0}, {-1, kInf, kFree}}},
      {"x - 1", [](const Tensor& x) { return x - 1; }, 1, {{0, -1, 1}, {kInf, kInf, 1}, {tiny, -1, 1}, {kNan, kNan, kFree}}},
      {"x * 0", [](const Tensor& x) { return x * 0; }, 1, {{1, 0, 0}, {kInf, kNan, 0}, {kNan, kNan, 0}}},
  };
}
// clang-format on

/// Every point at the beginning, in the middle and at the end of vectors of several lengths.
void check(const UnaryTable& table, const Point& p, int64_t n, int64_t at, DType t) {
  std::vector<double> x(static_cast<size_t>(n), table.elsewhere);
  const auto i = static_cast<size_t>(at);
  const double usual = values(table.f(make({table.elsewhere}, {1}, t)))[0];
  x[i] = p.x;
  for (double dy : {2.0, 0.0}) {
    const Tensor leaf = make(x, {n}, t).set_requires_grad();
    const Tensor y = table.f(leaf);
    y.backward({.gradient = full({n}, dy, t)});
    const std::vector<double> v = values(y), g = values(leaf.grad());
    SCOPED_TRACE(std::string(table.op) + " at " + std::to_string(p.x) +
                 ", dy = " + std::to_string(dy) + ", element " + std::to_string(at) + " of " +
                 std::to_string(n) + ", " + accrue::name_of(t));
    ASSERT_TRUE(is(v[i], p.y, t)) << "y";
    const bool promised =
        !std::isnan(p.x) && !std::isnan(p.slope) && !(table.zero_meets_infinity && std::isinf(p.y));
    if (dy != 0) {
      ASSERT_TRUE(is(g[i], p.slope == kFree ? kFree : dy * p.slope, t)) << "dx";
    } else if (promised) {
      ASSERT_TRUE(g[i] == 0) << "dx is " << g[i] << ", not 0";
    }
    for (size_t k = 0; k < v.size(); ++k) {
      ASSERT_TRUE(k == i || is(v[k], usual, t)) << "element " << k << " changed with another";
    }
  }
}

TEST(SpecialValues, FunctionsOfOneNumber) {
  for (DType t : {DType::float32, DType::float64})
    for (const UnaryTable& table : unary_tables(t))
      for (const Point& p : table.points)
        for (int64_t n : lengths())
          for (int64_t at : {int64_t{0}, n / 2, n - 1}) check(table, p, n, at, t);
}

struct Pair {
  double a, b, y, slope_a, slope_b;
};
struct BinaryTable {
  const char* op;
  Tensor (*f)(const Tensor&, const Tensor&);
  std::vector<Pair> pairs;
};

// clang-format off
std::vector<BinaryTable> binary_tables(DType t) {
  const double tiny = least(t), big = most(t);
  return {
      {"maximum", maximum, {{1, 1, 1, 0.5, 0.5}, {0, -0.0, 0, 0.5, 0.5}, {kInf, kInf, kInf, 0.5, 0.5}, {-kInf, -kInf, -kInf, 0.5, 0.5}, {kInf, 1, kInf, 1, 0}, {-kInf, 1, 1, 0, 1}, {tiny, 0, tiny, 1, 0}, {big, kInf, kInf, 0, 1}, {kNan, 1, kNan, kFree, kFree}, {1, kNan, kNan, kFree, kFree}, {kNan, kNan, kNan, kFree, kFree}, {kInf, kNan, kNan, kFree, kFree}}},
      {"minimum", minimum, {{1, 1, 1, 0.5, 0.5}, {0, -0.0, 0, 0.5, 0.5}, {kInf, kInf, kInf, 0.5, 0.5}, {kInf, 1, 1, 0, 1}, {-kInf, 1, -kInf, 1, 0}, {tiny, 0, 0, 0, 1}, {big, kInf, big, 1, 0}, {kNan, 1, kNan, kFree, kFree}, {1, kNan, kNan, kFree, kFree}, {-kInf, kNan, kNan, kFree, kFree}}},
      {"add", add, {{kInf, -kInf, kNan, 1, 1}, {big, big, kInf, 1, 1}, {tiny, -tiny, 0, 1, 1}, {kNan, 1, kNan, 1, 1}}},
      {"sub", sub, {{kInf, kInf, kNan, 1, -1}, {-big, big, -kInf, 1, -1}, {tiny, tiny, 0, 1, -1}, {1, kNan, kNan, 1, -1}}},
      {"mul", mul, {{0, kInf, kNan, kInf, 0}, {big, 2, kInf, 2, big}, {tiny, 1, tiny, 1, tiny}, {kNan, 0, kNan, 0, kNan}, {-kInf, 2, -kInf, 2, -kInf}}},
      {"div", div, {{1, 0, kInf, kInf, -kInf}, {-1, 0, -kInf, kInf, kInf}, {0, 0, kNan, kFree, kFree}, {1, kInf, 0, 0, 0}, {kInf, kInf, kNan, kFree, kFree}, {kInf, 2, kInf, 0.5, -kInf}, {0, 2, 0, 0.5, 0}, {1, kNan, kNan, kNan, kNan}, {tiny, 1, tiny, 1, -tiny}}},
      {"pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); }, {{0, 0, 1, 0, 0}, {0, 2, 0, 0, 0}, {0, 1, 0, 1, 0}, {0, 0.5, 0, kInf, 0}, {0, -1, kInf, -kInf, kFree}, {2, 0, 1, 0, std::log(2)}, {-1, 2, 1, -2, kFree}, {-8, 3, -512, 192, kFree}, {kInf, 2, kInf, kInf, kInf}, {kInf, 0, 1, 0, kFree}, {2, kInf, kInf, kFree, kInf}, {0.5, kInf, 0, kFree, kFree}, {big, 2, kInf, kFree, kInf}, {kNan, 2, kNan, kNan, kNan}, {2, kNan, kNan, kNan, kNan}}},
      {"mse_loss", [](const Tensor& a, const Tensor& b) { return mse_loss(a, b, Reduction::none); }, {{1, 1, 0, 0, 0}, {kInf, 1, kInf, kInf, -kInf}, {kNan, 1, kNan, kNan, kNan}, {big, -1, kInf, kFree, kFree}}},
      {"l1_loss", [](const Tensor& a, const Tensor& b) { return l1_loss(a, b, Reduction::none); }, {{1, 1, 0, 0, 0}, {0, -0.0, 0, 0, 0}, {kInf, 1, kInf, 1, -1}, {kNan, 1, kNan, kFree, kFree}, {tiny, 0, tiny, 1, -1}}},
      {"where true", [](const Tensor& a, const Tensor& b) { return where(eq(ones(a.shape()), 1), a, b); }, {{1, kNan, 1, 1, 0}, {kNan, 1, kNan, 1, 0}, {1, kInf, 1, 1, 0}}},
      {"where false", [](const Tensor& a, const Tensor& b) { return where(eq(ones(a.shape()), 0), a, b); }, {{kNan, 1, 1, 0, 1}, {kInf, 2, 2, 0, 1}}},
  };
}
// clang-format on

TEST(SpecialValues, FunctionsOfTwoNumbers) {
  for (DType t : {DType::float32, DType::float64})
    for (const BinaryTable& table : binary_tables(t))
      for (const Pair& p : table.pairs)
        for (int64_t n : lengths())
          for (double dy : {2.0, 0.0}) {
            SCOPED_TRACE(std::string(table.op) + " of " + std::to_string(p.a) + " and " +
                         std::to_string(p.b) + ", dy = " + std::to_string(dy) + ", " +
                         std::to_string(n) + " times in " + accrue::name_of(t));
            const Tensor a = full({n}, p.a, t).set_requires_grad();
            const Tensor b = full({n}, p.b, t).set_requires_grad();
            const Tensor y = table.f(a, b);
            y.backward({.gradient = full({n}, dy, t)});
            const std::vector<double> v = values(y), ga = values(a.grad()), gb = values(b.grad());
            const bool finite = std::isfinite(p.a) && std::isfinite(p.b);
            for (size_t i = 0; i < v.size(); ++i) {
              ASSERT_TRUE(is(v[i], p.y, t)) << "y, element " << i;
              if (dy != 0) {
                ASSERT_TRUE(is(ga[i], p.slope_a == kFree ? kFree : dy * p.slope_a, t))
                    << "da, element " << i;
                ASSERT_TRUE(is(gb[i], p.slope_b == kFree ? kFree : dy * p.slope_b, t))
                    << "db, element " << i;
              } else if (finite) {  // and so any infinite slope is a pole
                ASSERT_EQ(ga[i], 0) << "da, element " << i;
                ASSERT_EQ(gb[i], 0) << "db, element " << i;
              }
            }
          }
}

TEST(SpecialValues, TheSignOfZeroIsKept) {
  const Tensor x = tensor({0.0, -0.0});
  const auto signs = [](const Tensor& y) {
    const std::vector<double> v = values(y);
    return std::vector<bool>{std::signbit(v[0]), std::signbit(v[1])};
  };
  const std::vector<bool> kept = {false, true}, turned = {true, false}, gone = {false, false};
  EXPECT_EQ(signs(neg(x)), turned);
  EXPECT_EQ(signs(abs(x)), gone);
  EXPECT_EQ(signs(sqrt(x)), kept);
  EXPECT_EQ(signs(sin(x)), kept);
  EXPECT_EQ(signs(tanh(x)), kept);
  EXPECT_EQ(signs(x * 1), kept);
}

// ---- rows ----

using Rows = Tensor (*)(const Tensor&);  ///< of a matrix, row by row
struct RowTable {
  const char* op;
  Rows f;
};
const RowTable kRowOps[] = {
    {"sum", [](const Tensor& x) { return sum(x, 1); }},
    {"mean", [](const Tensor& x) { return mean(x, 1); }},
    {"amax", [](const Tensor& x) { return amax(x, 1); }},
    {"amin", [](const Tensor& x) { return amin(x, 1); }},
    {"max", [](const Tensor& x) { return max(x, 1).values; }},
    {"min", [](const Tensor& x) { return min(x, 1).values; }},
    {"softmax", [](const Tensor& x) { return softmax(x, 1); }},
    {"log_softmax", [](const Tensor& x) { return log_softmax(x, 1); }},
    {"logsumexp", [](const Tensor& x) { return logsumexp(x, 1); }},
    {"layer_norm", [](const Tensor& x) { return layer_norm(x, {x.size(1)}); }},
    {"matmul",
     [](const Tensor& x) {
       return matmul(x, ones({x.size(1), 2}, x.dtype()));
     }},
    {"max_pool2d",
     [](const Tensor& x) {
       return max_pool2d(reshape(x, {x.size(0), 1, 1, x.size(1)}), {.kernel = {1, x.size(1)}});
     }},
    {"avg_pool2d",
     [](const Tensor& x) {
       return avg_pool2d(reshape(x, {x.size(0), 1, 1, x.size(1)}), {.kernel = {1, x.size(1)}});
     }},
    {"cross_entropy",
     [](const Tensor& x) {
       return cross_entropy(x, zeros({x.size(0)}, DType::int64), {.reduction = Reduction::none});
     }},
};

TEST(SpecialValues, ANanMakesItsRowNanAndNoOther) {
  for (const RowTable& op : kRowOps)
    for (DType t : {DType::float32, DType::float64})
      for (int64_t n : lengths())
        for (int64_t at : {int64_t{0}, n / 2, n - 1})
          for (int64_t row : {0, 2}) {
            SCOPED_TRACE(std::string(op.op) + ", NaN at " + std::to_string(at) + " of " +
                         std::to_string(n) + " in row " + std::to_string(row) + ", " +
                         accrue::name_of(t));
            std::vector<double> x(static_cast<size_t>(3 * n));
            for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 7) / 4;
            x[static_cast<size_t>(row * n + at)] = kNan;
            const Tensor y = op.f(make(x, {3, n}, t));
            const std::vector<double> v = values(y);
            const size_t each = v.size() / 3;
            for (size_t i = 0; i < v.size(); ++i)
              ASSERT_EQ(std::isnan(v[i]), i / each == static_cast<size_t>(row)) << "element " << i;
          }
}

TEST(SpecialValues, EqualElementsShareAReductionsGradientEvenly) {
  for (int64_t n : lengths()) {
    std::vector<double> x(static_cast<size_t>(n), 0.0);
    x[0] = x[static_cast<size_t>(n - 1)] = 3;
    for (double extreme : {3.0, kInf}) {
      x[0] = x[static_cast<size_t>(n - 1)] = extreme;
      const Tensor a = make(x, {n}, DType::float32).set_requires_grad();
      (amax(a) * 6).backward();
      std::vector<double> shared(static_cast<size_t>(n), 0.0);
      shared[0] = shared[static_cast<size_t>(n - 1)] = 3;
      EXPECT_EQ(values(a.grad()), shared) << "amax, length " << n;
      const Tensor b = neg(make(x, {n}, DType::float32)).set_requires_grad();
      (amin(b) * 6).backward();
      EXPECT_EQ(values(b.grad()), shared) << "amin, length " << n;
      const Tensor c = make(x, {n}, DType::float32).set_requires_grad();
      const ValuesAndIndices first = max(c, 0);
      EXPECT_EQ(first.indices.item(), 0);
      (first.values * 6).backward();
      std::vector<double> all(static_cast<size_t>(n), 0.0);
      all[0] = 6;
      EXPECT_EQ(values(c.grad()), all) << "max with an index, length " << n;
      const Tensor d = make(x, {1, 1, 1, n}, DType::float32).set_requires_grad();
      (sum(max_pool2d(d, {.kernel = {1, n}})) * 6).backward();
      EXPECT_EQ(values(d.grad()), all) << "max_pool2d, length " << n;
    }
  }
}

TEST(SpecialValues, TheFirstNanIsTheLargestAndTheSmallest) {
  for (int64_t n : lengths()) {
    std::vector<double> x(static_cast<size_t>(n), kInf);
    x[1] = x[static_cast<size_t>(n - 1)] = kNan;
    EXPECT_EQ(argmax(make(x, {n}, DType::float32)).item(), 1) << n;
    for (double& v : x) v = std::isnan(v) ? v : -kInf;
    EXPECT_EQ(argmin(make(x, {n}, DType::float32)).item(), 1) << n;
  }
}

struct RowCase {
  const char* op;
  Rows f;
  std::vector<double> x, y, dx;  ///< dx of the sum of y
};
TEST(SpecialValues, RowsOfInfinitiesAndOfNothing) {
  const auto exponents = [](const Tensor& x) { return softmax(x, 1); };
  const auto logs = [](const Tensor& x) { return log_softmax(x, 1); };
  const auto lse = [](const Tensor& x) { return logsumexp(x, 1); };
  const auto norm = [](const Tensor& x) { return layer_norm(x, {x.size(1)}); };
  const auto loss = [](const Tensor& x) { return cross_entropy(x, zeros({1}, DType::int64)); };
  const auto ignored = [](const Tensor& x) {
    return cross_entropy(x, full({1}, -100, DType::int64));
  };
  const double big = 3e38, half = std::log(0.5);
  const RowCase cases[] = {
      {"softmax", exponents, {-kInf, 0, 0}, {0, 0.5, 0.5}, {0, 0, 0}},
      {"softmax", exponents, {big, -big}, {1, 0}, {0, 0}},
      {"softmax", exponents, {big, big}, {0.5, 0.5}, {0, 0}},
      {"softmax", exponents, {-kInf, -kInf}, {kNan, kNan}, {kFree, kFree}},
      {"softmax", exponents, {kInf, 0}, {kNan, kNan}, {kFree, kFree}},
      {"log_softmax", logs, {0, 0, -kInf}, {half, half, -kInf}, {kFree, kFree, kFree}},
      {"log_softmax", logs, {big, big}, {half, half}, {0, 0}},
      {"logsumexp", lse, {-kInf, 1}, {1}, {0, 1}},
      {"logsumexp", lse, {big, 0}, {big}, {1, 0}},
      {"logsumexp", lse, {-kInf, -kInf}, {-kInf}, {0, 0}},
      {"logsumexp", lse, {kInf, 0}, {kInf}, {kFree, kFree}},
      {"logsumexp", lse, {}, {-kInf}, {}},
      {"layer_norm", norm, {5, 5, 5}, {0, 0, 0}, {0, 0, 0}},
      {"layer_norm", norm, {7}, {0}, {0}},
      {"cross_entropy", loss, {0, -kInf}, {0}, {0, 0}},
      {"cross_entropy", loss, {0, 0, -kInf}, {-half}, {-0.5, 0.5, 0}},
      {"cross_entropy", loss, {big, 0}, {0}, {0, 0}},
      {"cross_entropy, all ignored", ignored, {1, 2, 3}, {0}, {0, 0, 0}},
      {"cross_entropy, all ignored", ignored, {kNan, kInf}, {0}, {0, 0}},
      {"sum", [](const Tensor& x) { return sum(x, 1); }, {kInf, -kInf}, {kNan}, {1, 1}},
      {"sum", [](const Tensor& x) { return sum(x, 1); }, {kInf, 1}, {kInf}, {1, 1}},
      {"sum", [](const Tensor& x) { return sum(x, 1); }, {}, {0}, {}},
      {"mean", [](const Tensor& x) { return mean(x, 1); }, {-kInf, 1}, {-kInf}, {0.5, 0.5}},
      {"amax", [](const Tensor& x) { return amax(x, 1); }, {-kInf, -kInf}, {-kInf}, {0.5, 0.5}},
      {"amin", [](const Tensor& x) { return amin(x, 1); }, {kInf, kInf}, {kInf}, {0.5, 0.5}},
  };
  for (const RowCase& c : cases) {
    const auto n = static_cast<int64_t>(c.x.size());
    SCOPED_TRACE(c.op);
    const Tensor x = make(c.x, {1, n}, DType::float32).set_requires_grad();
    const Tensor y = c.f(x);
    y.backward({.gradient = ones(y.shape())});
    const std::vector<double> v = values(y), g = values(x.grad());
    ASSERT_EQ(v.size(), c.y.size());
    for (size_t i = 0; i < v.size(); ++i)
      EXPECT_TRUE(is(v[i], c.y[i], DType::float32)) << "y, element " << i << " of " << x;
    for (size_t i = 0; i < g.size(); ++i)
      EXPECT_TRUE(is(g[i], c.dx[i], DType::float32)) << "dx, element " << i << " of " << x;
  }
}

TEST(SpecialValues, AQueryThatMayLookNowhereGivesZeroAndTakesNoGradient) {
  const Tensor q = ones({2, 3}).set_requires_grad(), k = ones({4, 3}).set_requires_grad();
  const Tensor v = full({4, 2}, 5).set_requires_grad();
  const Tensor mask = gt(tensor({{0, 0, 0, 0}, {1, 1, 0, 0}}), 0);
  const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
  EXPECT_EQ(values(y), (std::vector<double>{0, 0, 5, 5}));
  y.backward({.gradient = ones({2, 2})});
  EXPECT_EQ(values(v.grad()), (std::vector<double>{0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0}));
  EXPECT_EQ(values(q.grad()), std::vector<double>(6, 0));
}

TEST(SpecialValues, ComparisonsWithNanAreFalseButForUnequal) {
  const Tensor a = tensor({kNan, kNan, 1, 0}), b = tensor({1, kNan, kNan, -0.0});
  const auto truths = [](const Tensor& y) { return values(y); };
  using V = std::vector<double>;
  EXPECT_EQ(truths(eq(a, b)), (V{0, 0, 0, 1}));
  EXPECT_EQ(truths(ne(a, b)), (V{1, 1, 1, 0}));
  EXPECT_EQ(truths(lt(a, b)), (V{0, 0, 0, 0}));
  EXPECT_EQ(truths(le(a, b)), (V{0, 0, 0, 1}));
  EXPECT_EQ(truths(gt(a, b)), (V{0, 0, 0, 0}));
  EXPECT_EQ(truths(ge(a, b)), (V{0, 0, 0, 1}));
  EXPECT_EQ(truths(isnan(a)), (V{1, 1, 0, 0}));
  EXPECT_EQ(truths(logical_and(a, b)), (V{1, 1, 1, 0}));
  EXPECT_EQ(truths(logical_not(a)), (V{0, 0, 0, 1}));
}

}  // namespace
}  // namespace accrue::testing
