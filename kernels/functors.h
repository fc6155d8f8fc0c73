// The scalar maths of accrue, written once for every backend: each function, its derivative
// beneath.
//
// A functor is a template on T. T is float or double on a CUDA device, int64_t in the integer loops
// of the CPU, and a vector of numbers (cpu/simd.h) in its fast loops; so a formula uses only
// + - * /, comparisons, where(condition, a, b) and the functions of scalar_math.h. A derivative
// takes dy and what the forward saved: x, or y where that is enough.
//
// To add one: an enumerator and a line of the table. The table is included again for each SIMD
// target, inside that target's namespace: cpu/blocks-inl.h says how.
#ifndef ACCRUE_KERNELS_FUNCTORS_H
#define ACCRUE_KERNELS_FUNCTORS_H
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include <accrue/core/error.h>

#include <accrue/kernels/scalar_math.h>

namespace accrue {

/// Numbers that belong to a call: a scalar operand, an exponent, bounds.
struct Params {
  double a = 0, b = 0;
};

// clang-format off
enum class Unary : uint8_t {
  identity, neg, abs, sign, exp, log, sqrt, sin, cos, tanh, sigmoid, relu, gelu, gelu_tanh, silu,
  softplus, add_scalar, rsub_scalar, mul_scalar, div_scalar, rdiv_scalar, pow_scalar, rpow_scalar,
  clamp,
  logical_not, isnan,
  count
};
enum class Binary : uint8_t {
  add, sub, mul, div, pow, maximum, minimum, eq, ne, lt, le, gt, ge, logical_and, logical_or,
  abs_grad, log_grad, sqrt_grad, sin_grad, cos_grad, tanh_grad, sigmoid_grad, relu_grad, gelu_grad,
  gelu_tanh_grad, silu_grad, softplus_grad, rdiv_scalar_grad, pow_scalar_grad, rpow_scalar_grad,
  clamp_grad, div_grad_a, where_a, where_b, squared_error, absolute_error,
  count
};
enum class Ternary : uint8_t {
  where, maximum_grad, minimum_grad, div_grad_b, pow_grad_a, pow_grad_b, squared_error_grad,
  absolute_error_grad,
  count
};
// clang-format on

}  // namespace accrue

#ifdef __CUDACC__
#define ACCRUE_FORMULA __host__ __device__ __forceinline__
#else
#define ACCRUE_FORMULA __attribute__((always_inline)) inline
#endif

// One line of the table. `domain` is `truth` for a question, whose answer is 1 or 0, `number` for
// another function that integers have too, else `real`.
#define ACCRUE_UNARY(domain, op, x, formula)                               \
  template <>                                                              \
  struct Functor<Unary::op> {                                              \
    static constexpr const char* name = #op;                               \
    static constexpr int arity = 1;                                        \
    static constexpr bool takes_integers = Domain::domain != Domain::real; \
    static constexpr bool is_truth = Domain::domain == Domain::truth;      \
    template <class T>                                                     \
    ACCRUE_FORMULA T operator()([[maybe_unused]] Params p, T x) const {    \
      return formula;                                                      \
    }                                                                      \
  };
#define ACCRUE_BINARY(domain, op, a, b, formula)                             \
  template <>                                                                \
  struct Functor<Binary::op> {                                               \
    static constexpr const char* name = #op;                                 \
    static constexpr int arity = 2;                                          \
    static constexpr bool takes_integers = Domain::domain != Domain::real;   \
    static constexpr bool is_truth = Domain::domain == Domain::truth;        \
    template <class T>                                                       \
    ACCRUE_FORMULA T operator()([[maybe_unused]] Params p, T a, T b) const { \
      return formula;                                                        \
    }                                                                        \
  };
#define ACCRUE_TERNARY(domain, op, a, b, c, formula)                              \
  template <>                                                                     \
  struct Functor<Ternary::op> {                                                   \
    static constexpr const char* name = #op;                                      \
    static constexpr int arity = 3;                                               \
    static constexpr bool takes_integers = Domain::domain != Domain::real;        \
    static constexpr bool is_truth = Domain::domain == Domain::truth;             \
    template <class T>                                                            \
    ACCRUE_FORMULA T operator()([[maybe_unused]] Params p, T a, T b, T c) const { \
      return formula;                                                             \
    }                                                                             \
  };
#endif

#if defined(ACCRUE_FUNCTOR_NAMESPACE) || !defined(ACCRUE_KERNELS_FUNCTORS_SCALAR)
#ifndef ACCRUE_FUNCTOR_NAMESPACE
#define ACCRUE_KERNELS_FUNCTORS_SCALAR
#define ACCRUE_FUNCTOR_NAMESPACE accrue::functor
#endif

// NOLINTNEXTLINE(modernize-concat-nested-namespaces): accrue::functor, as the macro spells it
namespace ACCRUE_FUNCTOR_NAMESPACE {

enum class Domain : uint8_t { real, number, truth };

/// The function of an enumerator: Functor<Unary::exp>{}(params, x).
template <auto Op>
struct Functor;

// clang-format off

// ---- helpers ----
/// A slope that may be infinite, met by nothing: 0. `value` is dy times that slope.
template <class T> ACCRUE_FORMULA T unless_zero(T dy, T value) { return where(dy == T(0), T(0), value); }
/// x * s where s closes faster than x grows: 0 where s is 0, also for x = ∞.
template <class T> ACCRUE_FORMULA T gate(T x, T s) { return where(s == T(0), T(0), x * s); }
template <class T> ACCRUE_FORMULA T one_where(auto condition) { return where(condition, T(1), T(0)); }
template <class T> ACCRUE_FORMULA T sign(T x) { return where(x > T(0), T(1), where(x < T(0), T(-1), x)); }
template <class T> ACCRUE_FORMULA T square(T x) { return x * x; }
/// 1 / (1 + e^-x) without overflow, to the last places on both sides.
template <class T> ACCRUE_FORMULA T sigmoid(T x) { T e = exp(-abs(x)); return where(x >= T(0), T(1), e) / (T(1) + e); }
/// Its derivative.
template <class T> ACCRUE_FORMULA T sigmoid_slope(T x) { T e = exp(-abs(x)); return e / square(T(1) + e); }
/// ln(1 + e^-|x|), where the logarithm of 1 + e keeps what the sum loses of a small e.
template <class T> ACCRUE_FORMULA T log_one_plus_exp_below(T x) {
  T e = exp(-abs(x)), u = T(1) + e;
  return where(u == T(1), e, log(u) * (e / (u - T(1))));
}
/// The density of the standard normal distribution.
template <class T> ACCRUE_FORMULA T normal_density(T x) { return gauss(x) * T(0.39894228040143268); }
/// (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2 = sigmoid(gelu_argument(x)), and the argument's derivative.
template <class T> ACCRUE_FORMULA T gelu_argument(T x) { return x * (T(1.5957691216057308) + T(0.071354816272600248) * x * x); }
template <class T> ACCRUE_FORMULA T gelu_slope(T x) { return T(1.5957691216057308) + T(0.21406444881780074) * x * x; }
template <class T> ACCRUE_FORMULA T at_least(T x, T bound) { return where(x < bound, bound, x); }
template <class T> ACCRUE_FORMULA T at_most(T x, T bound) { return where(x > bound, bound, x); }
template <class T> ACCRUE_FORMULA T power(T x, double a) {
  if (a == 2) return x * x;
  if (a == 1) return x;
  if (a == 0) return T(1);
  if (a == -1) return T(1) / x;
  if (a == 3) return x * x * x;
  if (a == 0.5) return where(x == T(-std::numeric_limits<double>::infinity()), -x, sqrt(x + T(0)));
  return pow(x, as<T>(a));
}

// ---- one argument, and beneath each its derivative, which takes (dy, x) or (dy, y) ----
ACCRUE_UNARY (number, identity,          x,     x)
ACCRUE_UNARY (number, neg,               x,     -x)
ACCRUE_UNARY (number, abs,               x,     abs(x))
ACCRUE_BINARY(real,   abs_grad,          dy, x, dy * sign(x))
ACCRUE_UNARY (number, sign,              x,     sign(x))
ACCRUE_UNARY (real,   exp,               x,     exp(x))
ACCRUE_UNARY (real,   log,               x,     log(x))
ACCRUE_BINARY(real,   log_grad,          dy, x, unless_zero(dy, dy / x))
ACCRUE_UNARY (real,   sqrt,              x,     sqrt(x))
ACCRUE_BINARY(real,   sqrt_grad,         dy, y, unless_zero(dy, dy / (y + y)))
ACCRUE_UNARY (real,   sin,               x,     sin(x))
ACCRUE_BINARY(real,   sin_grad,          dy, x, dy * cos(x))
ACCRUE_UNARY (real,   cos,               x,     cos(x))
ACCRUE_BINARY(real,   cos_grad,          dy, x, -dy * sin(x))
ACCRUE_UNARY (real,   tanh,              x,     tanh(x))
ACCRUE_BINARY(real,   tanh_grad,         dy, y, dy * ((T(1) - y) * (T(1) + y)))
ACCRUE_UNARY (real,   sigmoid,           x,     sigmoid(x))
ACCRUE_BINARY(real,   sigmoid_grad,      dy, y, dy * (y * (T(1) - y)))
ACCRUE_UNARY (number, relu,              x,     where(x <= T(0), T(0), x))
ACCRUE_BINARY(real,   relu_grad,         dy, y, where(y <= T(0), T(0), dy))
ACCRUE_UNARY (real,   gelu,              x,     gate(x, normal_cdf(x)))
ACCRUE_BINARY(real,   gelu_grad,         dy, x, dy * (normal_cdf(x) + gate(x, normal_density(x))))
ACCRUE_UNARY (real,   gelu_tanh,         x,     gate(x, sigmoid(gelu_argument(x))))
ACCRUE_BINARY(real,   gelu_tanh_grad,    dy, x, dy * (sigmoid(gelu_argument(x)) + gate(x * gelu_slope(x), sigmoid_slope(gelu_argument(x)))))
ACCRUE_UNARY (real,   silu,              x,     gate(x, sigmoid(x)))
ACCRUE_BINARY(real,   silu_grad,         dy, x, dy * (sigmoid(x) + gate(x, sigmoid_slope(x))))
ACCRUE_UNARY (real,   softplus,          x,     at_least(x, T(0)) + log_one_plus_exp_below(as<T>(p.a) * x) / as<T>(p.a))
ACCRUE_BINARY(real,   softplus_grad,     dy, x, dy * sigmoid(as<T>(p.a) * x))
ACCRUE_UNARY (truth,  logical_not,       x,     one_where<T>(x == T(0)))
ACCRUE_UNARY (truth,  isnan,             x,     one_where<T>(x != x))

// ---- one argument and numbers of the call: p.a, p.b ----
ACCRUE_UNARY (number, add_scalar,        x,     x + as<T>(p.a))
ACCRUE_UNARY (number, rsub_scalar,       x,     as<T>(p.a) - x)
ACCRUE_UNARY (number, mul_scalar,        x,     x * as<T>(p.a))
ACCRUE_UNARY (real,   div_scalar,        x,     x / as<T>(p.a))
ACCRUE_UNARY (real,   rdiv_scalar,       x,     as<T>(p.a) / x)
ACCRUE_BINARY(real,   rdiv_scalar_grad,  dy, x, unless_zero(dy, -(dy / x) * (as<T>(p.a) / x)))
ACCRUE_UNARY (real,   pow_scalar,        x,     power(x, p.a))
ACCRUE_BINARY(real,   pow_scalar_grad,   dy, x, p.a == 0 ? T(0) : unless_zero(dy, dy * (as<T>(p.a) * power(x, p.a - 1))))
ACCRUE_UNARY (real,   rpow_scalar,       x,     pow(as<T>(p.a), x))
ACCRUE_BINARY(real,   rpow_scalar_grad,  dy, y, where((dy == T(0)) | ((as<T>(p.a) == T(0)) & (y <= T(1))), T(0), dy * (y * log(as<T>(p.a)))))
ACCRUE_UNARY (number, clamp,             x,     at_most(at_least(x, as<T>(p.a)), as<T>(p.b)))
ACCRUE_BINARY(real,   clamp_grad,        dy, x, where((x < as<T>(p.a)) | (x > as<T>(p.b)), T(0), dy))

// ---- two arguments; the derivative for a, then for b, which takes (dy, a, b) unless it says less ----
ACCRUE_BINARY (number, add,              a, b,     a + b)
ACCRUE_BINARY (number, sub,              a, b,     a - b)
ACCRUE_BINARY (number, mul,              a, b,     a * b)
ACCRUE_BINARY (real,   div,              a, b,     a / b)
ACCRUE_BINARY (real,   div_grad_a,       dy, b,    unless_zero(dy, dy / b))
ACCRUE_TERNARY(real,   div_grad_b,       dy, a, b, unless_zero(dy, -(dy / b) * (a / b)))
ACCRUE_BINARY (real,   pow,              a, b,     pow(a, b))
ACCRUE_TERNARY(real,   pow_grad_a,       dy, a, b, where((dy == T(0)) | (b == T(0)), T(0), dy * (b * pow(a, b - T(1)))))
ACCRUE_TERNARY(real,   pow_grad_b,       dy, a, b, where((dy == T(0)) | ((a == T(0)) & (b >= T(0))), T(0), dy * (pow(a, b) * log(a))))
ACCRUE_BINARY (number, maximum,          a, b,     where((a > b) | (a != a), a, b))
ACCRUE_TERNARY(real,   maximum_grad,     dy, a, b, where(a > b, dy, where(a == b, T(0.5) * dy, T(0))))
ACCRUE_BINARY (number, minimum,          a, b,     where((a < b) | (a != a), a, b))
ACCRUE_TERNARY(real,   minimum_grad,     dy, a, b, where(a < b, dy, where(a == b, T(0.5) * dy, T(0))))
ACCRUE_BINARY (truth,  eq,               a, b,     one_where<T>(a == b))
ACCRUE_BINARY (truth,  ne,               a, b,     one_where<T>(a != b))
ACCRUE_BINARY (truth,  lt,               a, b,     one_where<T>(a < b))
ACCRUE_BINARY (truth,  le,               a, b,     one_where<T>(a <= b))
ACCRUE_BINARY (truth,  gt,               a, b,     one_where<T>(a > b))
ACCRUE_BINARY (truth,  ge,               a, b,     one_where<T>(a >= b))
ACCRUE_BINARY (truth,  logical_and,      a, b,     one_where<T>((a != T(0)) & (b != T(0))))
ACCRUE_BINARY (truth,  logical_or,       a, b,     one_where<T>((a != T(0)) | (b != T(0))))
ACCRUE_TERNARY(number, where,            c, a, b,  where(c != T(0), a, b))
ACCRUE_BINARY (number, where_a,          c, dy,    where(c != T(0), dy, T(0)))
ACCRUE_BINARY (number, where_b,          c, dy,    where(c != T(0), T(0), dy))

// ---- losses; the derivative times p.a, for a; for b it is called with a and b exchanged ----
ACCRUE_BINARY (real,   squared_error,       a, b,     square(a - b))
ACCRUE_TERNARY(real,   squared_error_grad,  dy, a, b, dy * as<T>(2 * p.a) * (a - b))
ACCRUE_BINARY (real,   absolute_error,      a, b,     abs(a - b))
ACCRUE_TERNARY(real,   absolute_error_grad, dy, a, b, dy * as<T>(p.a) * sign(a - b))
// clang-format on

}  // namespace ACCRUE_FUNCTOR_NAMESPACE
#undef ACCRUE_FUNCTOR_NAMESPACE

#ifdef ACCRUE_KERNELS_FUNCTORS_SCALAR
#ifndef ACCRUE_KERNELS_FUNCTORS_VISIT
#define ACCRUE_KERNELS_FUNCTORS_VISIT
namespace accrue {
namespace functor {

template <auto op, class F>
auto call_with(F& f) {
  return f(Functor<op>{});
}
template <class Op, class F, size_t... I>
auto visit(Op op, F& f, std::index_sequence<I...>) {
  using Result = decltype(f(Functor<static_cast<Op>(0)>{}));
  static constexpr Result (*table[])(F&) = {call_with<static_cast<Op>(I), F>...};
  return table[static_cast<size_t>(op)](f);
}
/// f(Functor<op>{}): from the enumerator, known as the program runs, to the function, which the
/// compiler sees. Every f(Functor<...>{}) has the same result type.
template <class Op, class F>
auto visit(Op op, F&& f) {
  return visit(op, f, std::make_index_sequence<static_cast<size_t>(Op::count)>{});
}

template <class Op>
bool is_truth(Op op) {
  return visit(op, []<class F>(F) { return F::is_truth; });
}

template <class Op, size_t... I>
constexpr std::array<const char*, sizeof...(I)> names(std::index_sequence<I...>) {
  return {Functor<static_cast<Op>(I)>::name...};
}
template <class Op>
inline constexpr auto kNamesOf =
    names<Op>(std::make_index_sequence<static_cast<size_t>(Op::count)>{});

}  // namespace functor

inline const char* name_of(Unary f) { return functor::kNamesOf<Unary>[static_cast<size_t>(f)]; }
inline const char* name_of(Binary f) { return functor::kNamesOf<Binary>[static_cast<size_t>(f)]; }
inline const char* name_of(Ternary f) { return functor::kNamesOf<Ternary>[static_cast<size_t>(f)]; }

}  // namespace accrue
#endif
#endif
#endif
