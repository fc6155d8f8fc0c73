// Every function of functors.h, on every instruction set this machine has, against the same formula
// in long double; and the special values, which are policies rather than formulas.
#include <cstring>
#include <functional>
#include <string>

#include "tests/kernels/support.h"

#include <accrue/kernels/elementwise.h>

namespace accrue {
namespace {

using testing::ulps;
using Real = long double;

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
const Real kRootTwoOverPi = std::sqrt(2 / std::acos(Real(-1)));

Real sigmoid(Real x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
Real cdf(Real x) { return std::erfc(-x / std::sqrt(Real(2))) / 2; }
Real density(Real x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Real(-1))); }
Real twice_u(Real x) { return 2 * kRootTwoOverPi * (x + Real(0.044715) * x * x * x); }
Real twice_du(Real x) { return 2 * kRootTwoOverPi * (1 + 3 * Real(0.044715) * x * x); }
Real sgn(Real x) { return std::isnan(x) ? x : static_cast<Real>((x > 0) - (x < 0)); }

/// `ulps` bounds the error; `slack` allows so many epsilons of the first argument on top, where a
/// formula subtracts nearly equal terms.
template <class Op>
struct Case {
  Op op;
  std::function<Real(Real, Real, Real)> right;
  double ulps = 2;
  double slack = 0;
  Params p = {};
  bool positive = false;
};

const std::vector<Case<Unary>> kUnary = {
    {Unary::identity, [](Real x, Real, Real) { return x; }, 0},
    {Unary::neg, [](Real x, Real, Real) { return -x; }, 0},
    {Unary::abs, [](Real x, Real, Real) { return std::fabs(x); }, 0},
    {Unary::sign, [](Real x, Real, Real) { return sgn(x); }, 0},
    {Unary::exp, [](Real x, Real, Real) { return std::exp(x); }, 2},
    {Unary::log, [](Real x, Real, Real) { return std::log(x); }, 2},
    {Unary::sqrt, [](Real x, Real, Real) { return std::sqrt(x); }, 1},
    {Unary::sin, [](Real x, Real, Real) { return std::sin(x); }, 2},
    {Unary::cos, [](Real x, Real, Real) { return std::cos(x); }, 2},
    {Unary::tanh, [](Real x, Real, Real) { return std::tanh(x); }, 3},
    {Unary::sigmoid, [](Real x, Real, Real) { return sigmoid(x); }, 3},
    {Unary::relu, [](Real x, Real, Real) { return x < 0 ? 0 : x; }, 0},
    {Unary::gelu, [](Real x, Real, Real) { return x < -30 ? 0 : x * cdf(x); }, 4.5, 1},
    {Unary::gelu_tanh, [](Real x, Real, Real) { return x < -30 ? 0 : x * sigmoid(twice_u(x)); }, 4,
     2},
    {Unary::silu, [](Real x, Real, Real) { return x < -1e5L ? 0 : x * sigmoid(x); }, 4, 1e-30},
    {Unary::add_scalar, [](Real x, Real, Real) { return x + 0.75L; }, 1, 0, {.a = 0.75}},
    {Unary::rsub_scalar, [](Real x, Real, Real) { return 0.75L - x; }, 1, 0, {.a = 0.75}},
    {Unary::mul_scalar, [](Real x, Real, Real) { return x * 0.75L; }, 1, 0, {.a = 0.75}},
    {Unary::div_scalar, [](Real x, Real, Real) { return x / 0.75L; }, 1, 0, {.a = 0.75}},
    {Unary::rdiv_scalar, [](Real x, Real, Real) { return 0.75L / x; }, 1, 0, {.a = 0.75}},
    {Unary::pow_scalar, [](Real x, Real, Real) { return std::pow(x, 2.0L); }, 1, 0, {.a = 2}},
    {Unary::pow_scalar, [](Real x, Real, Real) { return std::pow(x, 0.5L); }, 1, 0, {.a = 0.5}},
    {Unary::pow_scalar, [](Real x, Real, Real) { return x; }, 0, 0, {.a = 1}},
    {Unary::pow_scalar, [](Real x, Real, Real) { return 1 / x; }, 1, 0, {.a = -1}},
    {Unary::pow_scalar, [](Real, Real, Real) { return 1; }, 0, 0, {.a = 0}},
    {Unary::pow_scalar, [](Real x, Real, Real) { return x * x * x; }, 2, 0, {.a = 3}},
    {Unary::pow_scalar, [](Real x, Real, Real) { return std::pow(x, 1.25L); }, 2, 0, {.a = 1.25}},
    {Unary::rpow_scalar, [](Real x, Real, Real) { return std::pow(1.25L, x); }, 2, 0, {.a = 1.25}},
    {Unary::clamp,
     [](Real x, Real, Real) { return x < -1     ? -1
                                     : x > 0.5L ? 0.5L
                                                : x; },
     0,
     0,
     {.a = -1, .b = 0.5}},
    {Unary::clamp,
     [](Real x, Real, Real) { return x > 0.5L ? 0.5L : x; },
     0,
     0,
     {.a = kNan, .b = 0.5}},
    {Unary::logical_not, [](Real x, Real, Real) { return x == 0; }, 0},
    {Unary::isnan, [](Real x, Real, Real) { return std::isnan(x); }, 0},
};

const std::vector<Case<Binary>> kBinary = {
    {Binary::add, [](Real a, Real b, Real) { return a + b; }, 1},
    {Binary::sub, [](Real a, Real b, Real) { return a - b; }, 1},
    {Binary::mul, [](Real a, Real b, Real) { return a * b; }, 1},
    {Binary::div, [](Real a, Real b, Real) { return a / b; }, 1},
    {Binary::pow, [](Real a, Real b, Real) { return std::pow(a, b); }, 2},
    {Binary::maximum,
     [](Real a, Real b, Real) { return std::isnan(a) || std::isnan(b) ? NAN
                                       : a > b                        ? a
                                                                      : b; }, 0},
    {Binary::minimum,
     [](Real a, Real b, Real) { return std::isnan(a) || std::isnan(b) ? NAN
                                       : a < b                        ? a
                                                                      : b; }, 0},
    {Binary::eq, [](Real a, Real b, Real) { return a == b; }, 0},
    {Binary::ne, [](Real a, Real b, Real) { return a != b; }, 0},
    {Binary::lt, [](Real a, Real b, Real) { return a < b; }, 0},
    {Binary::le, [](Real a, Real b, Real) { return a <= b; }, 0},
    {Binary::gt, [](Real a, Real b, Real) { return a > b; }, 0},
    {Binary::ge, [](Real a, Real b, Real) { return a >= b; }, 0},
    {Binary::logical_and, [](Real a, Real b, Real) { return a != 0 && b != 0; }, 0},
    {Binary::logical_or, [](Real a, Real b, Real) { return a != 0 || b != 0; }, 0},
    {Binary::abs_grad, [](Real dy, Real x, Real) { return dy * sgn(x); }, 0},
    {Binary::log_grad, [](Real dy, Real x, Real) { return dy == 0 ? 0 : dy / x; }, 1},
    {Binary::sin_grad, [](Real dy, Real x, Real) { return dy * std::cos(x); }, 3},
    {Binary::cos_grad, [](Real dy, Real x, Real) { return -dy * std::sin(x); }, 3},
    {Binary::relu_grad, [](Real dy, Real y, Real) { return y <= 0 ? 0 : dy; }, 0},
    {Binary::clamp_grad,
     [](Real dy, Real x, Real) { return x < -1 || x > 0.5L ? 0 : dy; },
     0,
     0,
     {.a = -1, .b = 0.5}},
    {Binary::rdiv_scalar_grad,
     [](Real dy, Real x, Real) { return dy == 0 ? 0 : -dy * 0.75L / (x * x); },
     3,
     0,
     {.a = 0.75}},
    {Binary::div_grad_a, [](Real dy, Real b, Real) { return dy == 0 ? 0 : dy / b; }, 1},
    {Binary::where_a, [](Real c, Real dy, Real) { return c != 0 ? dy : 0; }, 0},
    {Binary::where_b, [](Real c, Real dy, Real) { return c != 0 ? 0 : dy; }, 0},
    {Binary::squared_error, [](Real a, Real b, Real) { return (a - b) * (a - b); }, 3},
    {Binary::absolute_error, [](Real a, Real b, Real) { return std::fabs(a - b); }, 1},
};
// Formulas that subtract: for arguments of moderate size, with slack.
const std::vector<Case<Binary>> kSmooth = {
    {Binary::sqrt_grad, [](Real dy, Real y, Real) { return dy / 2 / y; }, 1},
    {Binary::pow_scalar_grad,
     [](Real dy, Real x, Real) { return dy * 1.25L * std::pow(x, 0.25L); },
     4,
     0,
     {.a = 1.25},
     true},
    {Binary::rpow_scalar_grad,
     [](Real dy, Real y, Real) { return dy * y * std::log(1.25L); },
     4,
     0,
     {.a = 1.25}},
    {Binary::tanh_grad, [](Real dy, Real y, Real) { return dy * (1 - y * y); }, 4, 4},
    {Binary::sigmoid_grad, [](Real dy, Real y, Real) { return dy * y * (1 - y); }, 4, 4},
    {Binary::gelu_grad, [](Real dy, Real x, Real) { return dy * (cdf(x) + x * density(x)); }, 4, 4},
    {Binary::gelu_tanh_grad,
     [](Real dy, Real x, Real) {
       const Real s = sigmoid(twice_u(x));
       return dy * (s + x * s * sigmoid(-twice_u(x)) * twice_du(x));
     },
     4, 12},
    {Binary::silu_grad,
     [](Real dy, Real x, Real) { return dy * (sigmoid(x) + x * sigmoid(x) * sigmoid(-x)); }, 4, 4},
};
const std::vector<Case<Ternary>> kTernary = {
    {Ternary::where, [](Real c, Real a, Real b) { return c != 0 ? a : b; }, 0},
    {Ternary::maximum_grad,
     [](Real dy, Real a, Real b) { return a > b    ? dy
                                          : a == b ? dy / 2
                                                   : 0; }, 0.5},
    {Ternary::minimum_grad,
     [](Real dy, Real a, Real b) { return a < b    ? dy
                                          : a == b ? dy / 2
                                                   : 0; }, 0.5},
};
const std::vector<Case<Ternary>> kSmoothTernary = {
    {Ternary::div_grad_b, [](Real dy, Real a, Real b) { return -dy * a / (b * b); }, 3},
    {Ternary::pow_grad_a,
     [](Real dy, Real a, Real b) { return dy * b * std::pow(a, b - 1); },
     12,
     0,
     {},
     true},
    {Ternary::pow_grad_b,
     [](Real dy, Real a, Real b) { return dy * std::pow(a, b) * std::log(a); },
     4,
     0,
     {},
     true},
    {Ternary::squared_error_grad,
     [](Real dy, Real a, Real b) { return dy * 2 * (a - b) * 0.75L; },
     4,
     0,
     {.a = 0.75}},
    {Ternary::absolute_error_grad,
     [](Real dy, Real a, Real b) { return dy * sgn(a - b) * 0.75L; },
     2,
     0,
     {.a = 0.75}},
};

template <class T>
std::vector<T> specials() {
  using Limits = std::numeric_limits<T>;
  return {T(0),
          T(-0.0),
          T(1),
          T(-1),
          T(0.5),
          T(2),
          T(-2),
          T(400),
          T(-400),
          Limits::max(),
          -Limits::max(),
          Limits::min(),
          -Limits::min(),
          Limits::denorm_min(),
          -Limits::denorm_min(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN()};
}

/// Operands whose every combination of special values appears, then random ones of all sizes.
template <class T>
std::vector<std::vector<T>> wild(int operands) {
  std::vector<std::vector<T>> in(3);
  const auto list = specials<T>();
  for (const T a : list) {
    for (const T b : list) {
      const T values[] = {a, operands > 1 ? b : a, operands > 2 ? T(b) : a};
      for (size_t i = 0; i < 3; ++i) in[i].push_back(values[i]);
      if (operands > 2) {
        in[0].push_back(a), in[1].push_back(b), in[2].push_back(T(0.5));
        in[0].push_back(T(0.5)), in[1].push_back(a), in[2].push_back(b);
      }
    }
  }
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 3);
  std::uniform_real_distribution<double> exponent(std::numeric_limits<T>::min_exponent,
                                                  std::numeric_limits<T>::max_exponent);
  for (int i = 0; i < 4000; ++i) {
    for (auto& v : in) {
      const double x = normal(random);
      v.push_back(static_cast<T>(i % 2 ? x : std::copysign(std::exp2(exponent(random)), x)));
    }
  }
  return in;
}
template <class T>
std::vector<std::vector<T>> mild(bool positive) {
  std::vector<std::vector<T>> in(3);
  std::mt19937 random(11);
  std::normal_distribution<double> normal(0, 2);
  for (int i = 0; i < 4000; ++i) {
    for (auto& v : in) v.push_back(static_cast<T>(normal(random)));
    if (positive) in[1].back() = std::fabs(in[1].back()) + T(0.01);
  }
  return in;
}

void call(Unary f, const Tensor* x, const Tensor& y, Params p) {
  kernels::unary(f, x[0], into(y), p);
}
void call(Binary f, const Tensor* x, const Tensor& y, Params p) {
  kernels::binary(f, x[0], x[1], into(y), p);
}
void call(Ternary f, const Tensor* x, const Tensor& y, Params p) {
  kernels::ternary(f, x[0], x[1], x[2], into(y), p);
}

template <class T, class Op>
void expect_right(const Case<Op>& c, const std::vector<std::vector<T>>& in) {
  const auto n = static_cast<int64_t>(in[0].size());
  const Tensor x[] = {from_data(in[0].data(), {n}), from_data(in[1].data(), {n}),
                      from_data(in[2].data(), {n})};
  const Tensor y = empty({n}, dtype_of<T>());
  call(c.op, x, y, c.p);
  int reported = 0;
  for (size_t i = 0; i < in[0].size() && reported < 3; ++i) {
    const T got = y.data<T>()[i];
    const Real right = c.right(in[0][i], in[1][i], in[2][i]);
    const Real slack = c.slack * std::numeric_limits<T>::epsilon() * std::fabs(Real(in[0][i]));
    const bool ok = ulps<T>(got, right) <= c.ulps || std::fabs(got - right) <= slack;
    reported += !ok;
    EXPECT_TRUE(ok) << name_of(c.op) << "(" << in[0][i] << ", " << in[1][i] << ", " << in[2][i]
                    << "; " << c.p.a << ", " << c.p.b << ") is " << got << ", should be " << right
                    << ", off by " << ulps<T>(got, right) << " ulp";
  }
}

class Functors : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels::cpu::limit_simd_target(GetParam());
    if (std::string(kernels::cpu::simd_target()) != GetParam()) {
      GTEST_SKIP() << "not on this processor, or not in this build: " << GetParam();
    }
  }

 private:
  testing::Machine machine_;
};

TEST_P(Functors, UnaryAgreeWithLongDouble) {
  for (const auto& c : kUnary) {
    expect_right<float>(c, wild<float>(1));
    expect_right<double>(c, wild<double>(1));
  }
}
TEST_P(Functors, BinaryAgreeWithLongDouble) {
  for (const auto& c : kBinary) {
    expect_right<float>(c, wild<float>(2));
    expect_right<double>(c, mild<double>(false));
  }
  for (const auto& c : kSmooth) {
    expect_right<float>(c, mild<float>(c.positive));
    expect_right<double>(c, mild<double>(c.positive));
  }
}
TEST_P(Functors, TernaryAgreeWithLongDouble) {
  for (const auto& c : kTernary) {
    expect_right<float>(c, wild<float>(3));
    expect_right<double>(c, wild<double>(3));
  }
  for (const auto& c : kSmoothTernary) {
    expect_right<float>(c, mild<float>(c.positive));
    expect_right<double>(c, mild<double>(c.positive));
  }
}

// exp, log, tanh and the normal distribution are our own: one float in 2^13.
TEST_P(Functors, OwnMathIsRightOverTheWholeRange) {
  std::vector<std::vector<float>> in(3);
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 8191) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    for (auto& v : in) v.push_back(x);
  }
  for (int i = 0; i < 200000; ++i) {  // densely where the functions bend
    for (auto& v : in) v.push_back(static_cast<float>(i - 100000) * 1.4e-4F);
  }
  for (const auto& c : kUnary) {
    const bool ours = c.op == Unary::exp || c.op == Unary::log || c.op == Unary::tanh ||
                      c.op == Unary::sigmoid || c.op == Unary::gelu || c.op == Unary::silu;
    Case<Unary> strict = c;
    strict.slack = 1e-30;  // a factor may be subnormal where the product is not
    if (ours) expect_right<float>(strict, in);
  }
}

template <class T, class Op>
void expect_same_wherever_it_stands(Op op, const std::vector<std::vector<T>>& in) {
  const int64_t n = 67;
  const auto at = [&](size_t operand, int64_t first, int64_t length) {
    return from_data(in[operand].data() + first, {length});
  };
  const Tensor x[] = {at(0, 0, n), at(1, 0, n), at(2, 0, n)};
  const Tensor y = empty({n}, dtype_of<T>());
  call(op, x, y, {.a = 1.25, .b = 2});
  for (int64_t first = 0; first < n; ++first) {
    for (const int64_t length : {1, 3, 8, 16, 17}) {
      if (first + length > n) continue;
      const Tensor part[] = {at(0, first, length), at(1, first, length), at(2, first, length)};
      const Tensor z = empty({length}, dtype_of<T>());
      call(op, part, z, {.a = 1.25, .b = 2});
      ASSERT_EQ(
          std::memcmp(z.data<T>(), y.data<T>() + first, sizeof(T) * static_cast<size_t>(length)), 0)
          << name_of(op) << " at " << first << ", " << length << " elements";
    }
  }
}
TEST_P(Functors, AnElementsBitsDoNotDependOnWhereItStands) {
  const auto floats = mild<float>(true);
  const auto doubles = mild<double>(true);
  for (int i = 0; i < static_cast<int>(Unary::count); ++i) {
    expect_same_wherever_it_stands(static_cast<Unary>(i), floats);
    expect_same_wherever_it_stands(static_cast<Unary>(i), doubles);
  }
  for (int i = 0; i < static_cast<int>(Binary::count); ++i) {
    expect_same_wherever_it_stands(static_cast<Binary>(i), floats);
    expect_same_wherever_it_stands(static_cast<Binary>(i), doubles);
  }
  for (int i = 0; i < static_cast<int>(Ternary::count); ++i) {
    expect_same_wherever_it_stands(static_cast<Ternary>(i), floats);
    expect_same_wherever_it_stands(static_cast<Ternary>(i), doubles);
  }
}

std::vector<double> unary(Unary f, std::vector<double> x, DType dtype, Params p = {}) {
  const Tensor in = tensor(x, {static_cast<int64_t>(x.size())}, dtype);
  const Tensor y = empty(in.shape(), dtype);
  kernels::unary(f, in, into(y), p);
  return y.to_vector<double>();
}
std::vector<double> binary(Binary f, std::vector<double> a, std::vector<double> b, DType dtype,
                           Params p = {}) {
  const Tensor x = tensor(a, {static_cast<int64_t>(a.size())}, dtype);
  const Tensor z = tensor(b, {static_cast<int64_t>(b.size())}, dtype);
  const Tensor y = empty(x.shape(), dtype);
  kernels::binary(f, x, z, into(y), p);
  return y.to_vector<double>();
}

TEST_P(Functors, case_AC_04_NanSurvivesAtEveryLengthAndSide) {
  for (const DType dtype : {float32, float64}) {
    for (const size_t n : {1, 3, 8, 16, 17, 64, 1024, 1031}) {
      std::vector<double> x(n, 2), zero(n, 0);
      x.front() = x.back() = kNan;
      const std::vector<std::vector<double>> results = {
          unary(Unary::relu, x, dtype),
          unary(Unary::abs, x, dtype),
          unary(Unary::sign, x, dtype),
          unary(Unary::gelu, x, dtype),
          unary(Unary::silu, x, dtype),
          unary(Unary::clamp, x, dtype, {.a = 0, .b = 1}),
          unary(Unary::clamp, x, dtype, {.a = 0, .b = kInf}),
          binary(Binary::maximum, x, zero, dtype),
          binary(Binary::maximum, zero, x, dtype),
          binary(Binary::minimum, x, zero, dtype),
          binary(Binary::minimum, zero, x, dtype)};
      for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_TRUE(std::isnan(results[i].front())) << "result " << i << ", length " << n;
        EXPECT_TRUE(std::isnan(results[i].back())) << "result " << i << ", length " << n;
        if (n > 2) {
          EXPECT_FALSE(std::isnan(results[i][1])) << "result " << i << ", length " << n;
        }
      }
    }
  }
}

TEST_P(Functors, case_AC_02_GeluIsSafeFarOut) {
  const double x = 21.657723;
  for (const DType dtype : {float32, float64}) {
    for (const size_t n : {size_t(4), size_t(4096)}) {
      const double values[] = {x, -x, 400, -400};
      const double right[] = {x, 0, 400, 0};
      std::vector<double> in(n);
      for (size_t i = 0; i < n; ++i) in[i] = values[i % 4];
      const std::vector<double> ones(n, 1);
      for (const auto& [f, df] : {std::pair(Unary::gelu, Binary::gelu_grad),
                                  std::pair(Unary::gelu_tanh, Binary::gelu_tanh_grad)}) {
        const auto y = unary(f, in, dtype);
        const auto dx = binary(df, ones, in, dtype);
        for (size_t i = 0; i < n; ++i) {
          EXPECT_NEAR(y[i], right[i % 4], 2e-6) << in[i];
          EXPECT_NEAR(dx[i], i % 2 == 0 ? 1 : 0, 1e-6) << in[i];
        }
      }
    }
  }
}

TEST_P(Functors, case_AC_06_SiluAndSigmoidDoNotOverflow) {
  for (const DType dtype : {float32, float64}) {
    const std::vector<double> x = {-1000, 1000, 20, -kInf, kInf};
    const auto y = unary(Unary::silu, x, dtype);
    const auto dx = binary(Binary::silu_grad, {1, 1, 1, 1, 1}, x, dtype);
    const auto s = unary(Unary::sigmoid, x, dtype);
    const double right_y[] = {0, 1000, 20, 0, kInf};
    const double right_dx[] = {0, 1, 1, 0, 1};
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isinf(right_y[i])) {
        EXPECT_NEAR(y[i], right_y[i], 1e-6);
      }
      if (std::isinf(right_y[i])) {
        EXPECT_EQ(y[i], right_y[i]);
      }
      EXPECT_NEAR(dx[i], right_dx[i], 1e-6);
      EXPECT_NEAR(s[i], x[i] > 0, 1e-8);
    }
  }
}

TEST_P(Functors, case_NW_05_PowersOfZeroHaveTheirSlopes) {
  const double right[] = {0, 1, 0, kInf, -kInf};
  const double exponent[] = {0, 1, 2, .5, -1};
  for (const DType dtype : {float32, float64}) {
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(binary(Binary::pow_scalar_grad, {1}, {0}, dtype, {.a = exponent[i]})[0], right[i]);
      const Tensor dy = tensor({1}, dtype), a = tensor({0}, dtype),
                   b = tensor({exponent[i]}, dtype);
      const Tensor da = empty({1}, dtype), db = empty({1}, dtype);
      kernels::ternary(Ternary::pow_grad_a, dy, a, b, into(da));
      kernels::ternary(Ternary::pow_grad_b, dy, a, b, into(db));
      EXPECT_EQ(da.item(), right[i]) << exponent[i];
      if (exponent[i] >= 0) {
        EXPECT_EQ(db.item(), 0) << exponent[i];
      }
    }
  }
}

TEST_P(Functors, case_NW_06_NegativeBasesHaveFiniteSlopes) {
  for (const DType dtype : {float32, float64}) {
    EXPECT_EQ(binary(Binary::pow_scalar_grad, {1}, {-2}, dtype, {.a = 2})[0], -4);
    EXPECT_EQ(binary(Binary::pow_scalar_grad, {1}, {-2}, dtype, {.a = 3})[0], 12);
    EXPECT_EQ(binary(Binary::pow_scalar_grad, {1}, {0}, dtype, {.a = 2})[0], 0);
    const Tensor dy = tensor({1, 1}, dtype), a = tensor({-2, -2}, dtype), b = tensor({2, 3}, dtype);
    const Tensor da = empty({2}, dtype);
    kernels::ternary(Ternary::pow_grad_a, dy, a, b, into(da));
    EXPECT_EQ(da.to_vector<double>(), (std::vector<double>{-4, 12}));
  }
}

TEST_P(Functors, case_NW_12_TheSlopeOfAbsAtZeroIsZero) {
  const auto dx = binary(Binary::abs_grad, {1, 1, 1}, {-2, 0, 2}, float32);
  EXPECT_EQ(dx, (std::vector<double>{-1, 0, 1}));
}

TEST_P(Functors, APoleMetByNothingIsNothing) {
  for (const DType dtype : {float32, float64}) {
    const std::vector<double> dy = {0, 1};
    const std::vector<double> at = {0, 0};
    using Pair = std::vector<double>;
    EXPECT_EQ(binary(Binary::log_grad, dy, at, dtype), (Pair{0, kInf}));
    EXPECT_EQ(binary(Binary::sqrt_grad, dy, at, dtype), (Pair{0, kInf}));
    EXPECT_EQ(binary(Binary::div_grad_a, dy, at, dtype), (Pair{0, kInf}));
    EXPECT_EQ(binary(Binary::rdiv_scalar_grad, dy, at, dtype, {.a = 1}), (Pair{0, -kInf}));
    EXPECT_EQ(binary(Binary::pow_scalar_grad, dy, at, dtype, {.a = 0.5}), (Pair{0, kInf}));
    EXPECT_EQ(binary(Binary::rpow_scalar_grad, dy, at, dtype, {.a = 0}), (Pair{0, 0}));
    const Tensor d = tensor({0, 1}, dtype), a = tensor({1, 1}, dtype), b = tensor({0, 0}, dtype);
    const Tensor db = empty({2}, dtype);
    kernels::ternary(Ternary::div_grad_b, d, a, b, into(db));
    EXPECT_EQ(db.to_vector<double>(), (Pair{0, -kInf}));
  }
}

TEST_P(Functors, case_RD_03_EqualsShareTheGradientOfMaximum) {
  const Tensor dy = tensor({1, 1, 1}), a = tensor({1, 2, 3}), b = tensor({1, 5, 0});
  const Tensor da = empty({3}), db = empty({3});
  kernels::ternary(Ternary::maximum_grad, dy, a, b, into(da));
  kernels::ternary(Ternary::maximum_grad, dy, b, a, into(db));
  EXPECT_EQ(da.to_vector<double>(), (std::vector<double>{.5, 0, 1}));
  EXPECT_EQ(db.to_vector<double>(), (std::vector<double>{.5, 1, 0}));
}

TEST_P(Functors, ClampPassesTheGradientAtItsBounds) {
  const auto dx =
      binary(Binary::clamp_grad, {1, 1, 1, 1, 1}, {-2, -1, 0, 1, 2}, float32, {.a = -1, .b = 1});
  EXPECT_EQ(dx, (std::vector<double>{0, 1, 1, 1, 0}));
}

INSTANTIATE_TEST_SUITE_P(Targets, Functors, ::testing::Values("avx3", "avx2", "baseline"),
                         [](const auto& target) { return std::string(target.param); });

TEST(FunctorNames, AreTheEnumeratorsAndDiffer) {
  EXPECT_STREQ(name_of(Unary::gelu_tanh), "gelu_tanh");
  EXPECT_STREQ(name_of(Binary::logical_or), "logical_or");
  EXPECT_STREQ(name_of(Ternary::where), "where");
}

}  // namespace
}  // namespace accrue
