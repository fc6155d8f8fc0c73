// The table of operators: one row for each operator and way to use it.
//
// A row is: name, inputs, the operator, what it must compute (tests/ops/references.h), how close,
// and one wrong call with a part of its message. For that line every operator is taken through all
// suites of tests/ops/: values, finite differences, the add rule, layouts, empty batches, threads,
// 16-bit numbers, failing allocations and anomaly mode. A new operator is a new row.
#pragma once
#include "tests/ops/references.h"

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/autograd/ops.h>

// The rows of a table:
// clang-format off

namespace accrue::testing {

// The words of the rows.
namespace table {
using In = const Tensors&;
using X = const Tensor&;
using T = Tolerance;
using K = Kind;
using Rows = std::vector<OpCase>;

inline const Dims k34{3, 4};
inline constexpr auto kKeep = KeepDim::yes;
inline const OpTraits kChained{.adds = Adds::chained}, kFractions{.adds = Adds::chained_fractions};

inline Tensor ints(std::initializer_list<double> v) { return tensor(v, DType::int64); }

inline Rows arithmetic() {
  const auto add_ = each([](double a, double b) { return a + b; });
  const auto sub_ = each([](double a, double b) { return a - b; });
  const auto mul_ = each([](double a, double b) { return a * b; });
  const auto div_ = each([](double a, double b) { return a / b; });
  const auto pow_ = each([](double a, double b) { return std::pow(a, b); });
  const auto max_ = each([](double a, double b) { return a > b ? a : b; });
  const auto min_ = each([](double a, double b) { return a < b ? a : b; });
  const Input x = items(k34), p = items(k34, K::positive);
  const WrongCall no;
  return {
   {"add", {x, x}, [](In v) { return v[0] + v[1]; }, add_, T::rounded,
    {[](X v) { return v + ones({2, 4}); }, "add: cannot broadcast [2, 3] with [2, 4]: dimension 1 is 3"}},
   {"add/broadcast", {x, shared({4})}, [](In v) { return v[0] + v[1]; }, add_, T::rounded, {}, kChained},
   {"add/both_stretch", {items({3, 1}), shared({1, 4})}, [](In v) { return v[0] + v[1]; }, add_, T::rounded, {}, kChained},
   {"add/higher_rank", {shared({4}), items({2, 3, 4})}, [](In v) { return v[0] + v[1]; }, add_, T::rounded, {}, kChained},
   {"add/number", {x}, [](In v) { return v[0] + 1.5; }, each([](double a) { return a + 1.5; })},
   {"add/two_dtypes", {x, x}, [](In v) { return v[0] + to(v[1], DType::float64); }, add_},
   {"sub", {x, x}, [](In v) { return v[0] - v[1]; }, sub_, T::rounded,
    {[](X v) { return v - ones({3, 3}); }, "sub: cannot broadcast [2, 3] with [3, 3]: dimension 0 is 2"}},
   {"sub/broadcast", {shared({3, 1}), items({2, 3, 4})}, [](In v) { return v[0] - v[1]; }, sub_, T::rounded, {}, kChained},
   {"sub/number", {x}, [](In v) { return v[0] - 1.5; }, each([](double a) { return a - 1.5; })},
   {"sub/from_number", {x}, [](In v) { return 1.5 - v[0]; }, each([](double a) { return 1.5 - a; })},
   {"mul", {x, x}, [](In v) { return v[0] * v[1]; }, mul_, T::rounded,
    {[](X v) { return v * ones({2, 4}); }, "mul: cannot broadcast [2, 3] with [2, 4]"}},
   {"mul/broadcast", {x, shared({4})}, [](In v) { return v[0] * v[1]; }, mul_, T::rounded, {}, kChained},
   {"mul/one_number", {x, shared({})}, [](In v) { return v[0] * v[1]; }, mul_, T::rounded, {}, kChained},
   {"mul/outer", {items({3, 1}), shared({4})}, [](In v) { return v[0] * v[1]; }, mul_, T::rounded, {}, kChained},
   {"mul/itself", {x}, [](In v) { return v[0] * v[0]; }, each([](double a) { return a * a; })},
   {"mul/two_dtypes", {x, shared({4})}, [](In v) { return to(v[0], DType::float64) * v[1]; }, mul_, T::rounded, {}, kChained},
   {"mul/number", {x}, [](In v) { return 2.5 * v[0]; }, each([](double a) { return 2.5 * a; })},
   {"div", {x, p}, [](In v) { return v[0] / v[1]; }, div_, T::rounded,
    {[](X v) { return v / ones({2, 4}); }, "div: cannot broadcast [2, 3] with [2, 4]"}},
   {"div/broadcast", {x, shared({4}, K::positive)}, [](In v) { return v[0] / v[1]; }, div_, T::rounded, no, kFractions},
   {"div/number", {x}, [](In v) { return v[0] / 2.5; }, each([](double a) { return a / 2.5; })},
   {"div/of_number", {p}, [](In v) { return 2.5 / v[0]; }, each([](double a) { return 2.5 / a; })},
   {"pow", {p, x}, [](In v) { return pow(v[0], v[1]); }, pow_, T::transcendental,
    {[](X v) { return pow(v, ones({2, 4})); }, "pow: cannot broadcast [2, 3] with [2, 4]"}},
   {"pow/broadcast", {p, shared({4})}, [](In v) { return pow(v[0], v[1]); }, pow_, T::transcendental, no, kFractions},
   {"pow/square", {x}, [](In v) { return pow(v[0], 2); }, each([](double a) { return a * a; }), T::transcendental},
   {"pow/cube", {x}, [](In v) { return pow(v[0], 3); }, each([](double a) { return a * a * a; }), T::transcendental},
   {"pow/root", {p}, [](In v) { return pow(v[0], 0.5); }, each([](double a) { return std::sqrt(a); }), T::transcendental},
   {"pow/inverse", {p}, [](In v) { return pow(v[0], -1.5); }, each([](double a) { return std::pow(a, -1.5); }), T::transcendental},
   {"pow/of_number", {x}, [](In v) { return pow(1.5, v[0]); }, each([](double a) { return std::pow(1.5, a); }), T::transcendental},
   {"maximum", {x, x}, [](In v) { return maximum(v[0], v[1]); }, max_, T::exact,
    {[](X v) { return maximum(v, ones({2, 4})); }, "maximum: cannot broadcast [2, 3] with [2, 4]"}},
   {"maximum/broadcast", {x, shared({4})}, [](In v) { return maximum(v[0], v[1]); }, max_, T::exact, {}, kChained},
   {"minimum", {x, x}, [](In v) { return minimum(v[0], v[1]); }, min_, T::exact,
    {[](X v) { return minimum(v, ones({2, 4})); }, "minimum: cannot broadcast [2, 3] with [2, 4]"}},
   {"minimum/broadcast", {shared({3, 1}), items({2, 3, 4})}, [](In v) { return minimum(v[0], v[1]); }, min_, T::exact, {}, kChained},
  };
}

inline Rows functions_of_one() {
  const Input x = items(k34), p = items(k34, K::positive);
  const auto whole = [](X v) { return to(v, DType::int64); };
  return {
   {"neg", {x}, [](In v) { return -v[0]; }, each([](double a) { return -a; }), T::exact,
    {[](X) { return -Tensor(); }, "neg: a tensor is not defined"}},
   {"abs", {x}, [](In v) { return abs(v[0]); }, each([](double a) { return std::fabs(a); }), T::exact,
    {[](X) { return abs(Tensor()); }, "abs: a tensor is not defined"}},
   {"exp", {x}, [](In v) { return exp(v[0]); }, each([](double a) { return std::exp(a); }), T::transcendental,
    {[=](X v) { return exp(whole(v)); }, "exp: the tensor is int64; it must be floating point"}},
   {"log", {p}, [](In v) { return log(v[0]); }, each([](double a) { return std::log(a); }), T::transcendental,
    {[=](X v) { return log(whole(v)); }, "log: the tensor is int64"}},
   {"sqrt", {p}, [](In v) { return sqrt(v[0]); }, each([](double a) { return std::sqrt(a); }), T::rounded,
    {[=](X v) { return sqrt(whole(v)); }, "sqrt: the tensor is int64"}},
   {"sin", {x}, [](In v) { return sin(v[0]); }, each([](double a) { return std::sin(a); }), T::transcendental,
    {[=](X v) { return sin(whole(v)); }, "sin: the tensor is int64"}},
   {"cos", {x}, [](In v) { return cos(v[0]); }, each([](double a) { return std::cos(a); }), T::transcendental,
    {[=](X v) { return cos(whole(v)); }, "cos: the tensor is int64"}},
   {"tanh", {x}, [](In v) { return tanh(v[0]); }, each([](double a) { return std::tanh(a); }), T::transcendental,
    {[=](X v) { return tanh(whole(v)); }, "tanh: the tensor is int64"}},
   {"sigmoid", {x}, [](In v) { return sigmoid(v[0]); }, each(sigmoid), T::transcendental,
    {[=](X v) { return sigmoid(whole(v)); }, "sigmoid: the tensor is int64"}},
   {"relu", {x}, [](In v) { return relu(v[0]); }, each([](double a) { return a > 0 ? a : 0; }), T::exact,
    {[=](X v) { return relu(whole(v)); }, "relu: the tensor is int64"}},
   {"silu", {x}, [](In v) { return silu(v[0]); }, each([](double a) { return a * sigmoid(a); }), T::transcendental,
    {[=](X v) { return silu(whole(v)); }, "silu: the tensor is int64"}},
   {"softplus", {x}, [](In v) { return softplus(v[0], 2); }, each([](double a) { return std::log1p(std::exp(2 * a)) / 2; }), T::transcendental,
    {[](X v) { return softplus(v, 0); }, "softplus: beta is 0; it must be positive"}},
   {"gelu", {x}, [](In v) { return gelu(v[0]); }, each(gelu), T::transcendental, {[=](X v) { return gelu(whole(v)); }, "gelu: the tensor is int64"}},
   {"gelu/tanh", {x}, [](In v) { return gelu(v[0], GeluApproximation::tanh); }, each(gelu_tanh), T::transcendental},
   {"clamp", {x}, [](In v) { return clamp(v[0], -0.75, 1.25); }, each([](double a) { return a < -0.75  ? -0.75
                                                                                            : a > 1.25 ? 1.25
                                                                                                       : a; }), T::exact,
    {[](X v) { return clamp(v, 2, 1); }, "clamp: the bounds are 2 and 1; the lower must not be above the upper"}},
   {"clamp/below", {x}, [](In v) { return clamp(v[0], 0.5); }, each([](double a) { return a < 0.5 ? 0.5 : a; }), T::exact},
  };
}

inline Rows choice_and_comparison() {
  const Input x = items(k34), c = booleans(k34);
  const OpTraits no_gradient{.differentiable = false};
  const auto where_ = each([](double which, double a, double b) { return which != 0 ? a : b; });
  const auto row = [&](const char* name, Tensor (*f)(X, X), double (*right)(double, double)) {
    return OpCase{name, {x, x}, [f](In v) { return f(v[0], v[1]); }, each(right), T::exact,
     {[f](X v) { return f(v, ones({2, 4})); },
      std::string(name) + ": cannot broadcast [2, 3] with [2, 4]"},
     no_gradient};
  };
  return {
   {"where", {c, x, x}, [](In v) { return where(v[0], v[1], v[2]); }, where_, T::exact,
    {[](X v) { return where(v, v, v); }, "where: the condition is float32; it must be bool"}},
   {"where/broadcast", {booleans({3, 1}), x, shared({4})}, [](In v) { return where(v[0], v[1], v[2]); }, where_, T::exact, {}, kChained},
   {"where/number_right", {c, x}, [](In v) { return where(v[0], v[1], 1.5); }, each([](double which, double a) { return which != 0 ? a : 1.5; }), T::exact},
   {"where/number_left", {c, x}, [](In v) { return where(v[0], 1.5, v[1]); }, each([](double which, double a) { return which != 0 ? 1.5 : a; }), T::exact},
   {"masked_fill", {x, c}, [](In v) { return masked_fill(v[0], v[1], 1.5); }, each([](double a, double which) { return which != 0 ? 1.5 : a; }), T::exact,
    {[](X v) { return masked_fill(v, v, 1); }, "masked_fill: the mask is float32; it must be bool: compare something, or cast it"}},
   row("eq", eq, [](double a, double b) -> double { return a == b; }),
   row("ne", ne, [](double a, double b) -> double { return a != b; }),
   row("lt", lt, [](double a, double b) -> double { return a < b; }),
   row("le", le, [](double a, double b) -> double { return a <= b; }),
   row("gt", gt, [](double a, double b) -> double { return a > b; }),
   row("ge", ge, [](double a, double b) -> double { return a >= b; }),
   row("logical_and", logical_and, [](double a, double b) -> double { return a != 0 && b != 0; }),
   row("logical_or", logical_or, [](double a, double b) -> double { return a != 0 || b != 0; }),
   {"lt/number", {x}, [](In v) { return v[0] < 0.5; }, each([](double a) -> double { return a < 0.5; }), T::exact, {}, no_gradient},
   {"logical_not", {c}, [](In v) { return logical_not(v[0]); }, each([](double a) -> double { return a == 0; }), T::exact,
    {[](X) { return logical_not(Tensor()); }, "logical_not: a tensor is not defined"}, no_gradient},
   {"isnan", {x}, [](In v) { return isnan(v[0]); }, each([](double) { return 0.0; }), T::exact,
    {[](X) { return isnan(Tensor()); }, "isnan: a tensor is not defined"}, no_gradient},
  };
}

inline Rows reductions() {
  const Input x = items({3, 4, 5}), d = items({3, 4, 5}, K::distinct);
  const OpTraits needs_some{.nothing_of_nothing = true}, index{.nothing_of_nothing = true, .differentiable = false};
  const OpTraits index_of_row{.differentiable = false};
  const OpReference running_total = [](const Arrays& v) {  // of a [.., 4, 5] along the 4
    Array y = v[0];
    for (size_t i = 0; i < y.v.size(); ++i) if (i % 20 >= 5) y.v[i] += y.v[i - 5];
    return y;
  };
  return {
   {"sum", {x}, [](In v) { return sum(v[0]); }, reduced(total), T::sum, {[](X v) { return sum(v, 2); }, "sum: dimension 2 of a tensor with"}},
   {"sum/first", {x}, [](In v) { return sum(v[0], 0); }, reduced(total, {0}), T::sum},
   {"sum/middle", {x}, [](In v) { return sum(v[0], 1); }, reduced(total, {1}), T::sum},
   {"sum/last_kept", {x}, [](In v) { return sum(v[0], -1, kKeep); }, reduced(total, {-1}, true), T::sum},
   {"sum/two", {x},
    [](In v) { return sum(v[0], {0, 2}); },
    reduced(total, {0, 2}), T::sum},
   {"mean", {x}, [](In v) { return mean(v[0]); }, reduced(average), T::sum,
    {[](X v) { return mean(v, {0, 0}); }, "mean: dimension 0 comes twice"},
    needs_some},
   {"mean/last", {x}, [](In v) { return mean(v[0], 2); }, reduced(average, {2}), T::sum},
   {"mean/two_kept", {x},
    [](In v) { return mean(v[0], {1, 2}, kKeep); },
    reduced(average, {1, 2}, true), T::sum},
   {"cumsum", {x}, [](In v) { return cumsum(v[0], 1); }, running_total, T::sum,
    {[](X v) { return cumsum(v, 2); }, "cumsum: dimension 2 of a tensor with"}},
   {"cumsum/long", {items({2, 70})}, [](In v) { return cumsum(v[0], -1); }, [](const Arrays& v) {
      Array y = v[0];
      for (size_t i = 0; i < y.v.size(); ++i) if (i % 70 != 0) y.v[i] += y.v[i - 1];
      return y; }, T::sum},
   {"amax", {d}, [](In v) { return amax(v[0]); }, reduced(largest), T::exact,
    {[](X) { return amax(ones({0, 2}), 0); }, "amax: dimension 0 of [0, 2] has size 0; there is no amax of nothing"},
    needs_some},
   {"amax/last", {d}, [](In v) { return amax(v[0], 2); }, reduced(largest, {2}), T::exact},
   {"amax/first_kept", {d}, [](In v) { return amax(v[0], 0, kKeep); }, reduced(largest, {0}, true), T::exact, {}, needs_some},
   {"amin", {d}, [](In v) { return amin(v[0]); }, reduced(smallest), T::exact,
    {[](X) { return amin(ones({0, 2})); }, "amin: dimension 0 of [0, 2] has size 0"},
    needs_some},
   {"amin/two", {d},
    [](In v) { return amin(v[0], {1, 2}); },
    reduced(smallest, {1, 2}), T::exact},
   {"max", {d}, [](In v) { return max(v[0]); }, reduced(largest), T::exact,
    {[](X v) { return max(v, 7).values; }, "max: dimension 7 of a tensor with"}, needs_some},
   {"max/along", {d}, [](In v) { return max(v[0], 1).values; }, reduced(largest, {1}), T::exact},
   {"max/indices", {d}, [](In v) { return max(v[0], 1).indices; }, reduced(where_largest, {1}), T::exact, {}, index_of_row},
   {"min", {d}, [](In v) { return min(v[0]); }, reduced(smallest), T::exact,
    {[](X v) { return min(v, 7).values; }, "min: dimension 7 of a tensor with"}, needs_some},
   {"min/along_kept", {d}, [](In v) { return min(v[0], -1, kKeep).values; }, reduced(smallest, {2}, true), T::exact},
   {"argmax", {d}, [](In v) { return argmax(v[0]); }, reduced(where_largest), T::exact,
    {[](X) { return argmax(ones({2, 0}), 1); }, "argmax: dimension 1 of [2, 0] has size 0"},
    index},
   {"argmax/last", {d}, [](In v) { return argmax(v[0], 2); }, reduced(where_largest, {2}), T::exact, {}, index_of_row},
   {"argmax/several", {d}, [](In v) { return argmax(v[0], {1, 2}); }, reduced(where_largest, {1, 2}), T::exact, {}, index_of_row},
   {"argmin", {d}, [](In v) { return argmin(v[0]); }, reduced(where_smallest), T::exact,
    {[](X) { return argmin(ones({2, 0}), 1); }, "argmin: dimension 1 of [2, 0] has size 0"},
    index},
   {"argmin/several_kept", {d}, [](In v) { return argmin(v[0], {2, 1}, kKeep); }, reduced(where_smallest, {1, 2}, true), T::exact, {}, index_of_row},
   {"argmin/kept", {d}, [](In v) { return argmin(v[0], 1, kKeep); }, reduced(where_smallest, {1}, true), T::exact, {}, index_of_row},
  };
}

inline Rows products() {
  const auto mm = [](In v) { return matmul(v[0], v[1]); };
  const auto lin = [](In v) { return linear(v[0], v[1], v.size() > 2 ? v[2] : Tensor()); };
  const auto ending = [=](Activation f) {
    return [=](In v) { return linear(v[0], v[1], v.size() > 2 ? v[2] : Tensor(), f); };
  };
  const auto then = [](double (*f)(double)) {
    return [=](const Arrays& v) { return each(f)({linear(v)}); };
  };
  const Input w = shared({4, 5});
  return {
   {"matmul", {items({3, 5}), shared({5, 4})}, mm, matmul, T::sum,
    {[](X v) { return matmul(v, ones({4, 5})); }, "matmul: inner dimensions differ: a is [2, 3], b is [4, 5]"}, kChained},
   {"matmul/batched", {items({2, 3, 5}), items({2, 5, 4})}, mm, matmul, T::sum, {}, kChained},
   {"matmul/shared_right", {items({2, 3, 5}), shared({5, 4})}, mm, matmul, T::sum, {}, kChained},
   {"matmul/shared_left", {shared({3, 5}), items({2, 5, 4})}, mm, matmul, T::sum, {}, kChained},
   {"matmul/batches_stretch", {items({2, 1, 3, 4}), shared({3, 4, 2})}, mm, matmul, T::sum, {}, kChained},
   {"matmul/row", {shared({5}), items({5, 4}, K::plain, 1)}, mm, matmul, T::sum, {}, kChained},
   {"matmul/column", {items({3, 5}), shared({5})}, mm, matmul, T::sum, {}, kChained},
   {"matmul/dot", {items({5}), items({5})}, mm, matmul, T::sum, {}, kChained},
   {"matmul/row_batched", {shared({5}), items({2, 5, 4})}, mm, matmul, T::sum, {}, kChained},
   {"matmul/transposed", {items({5, 3}, K::plain, 1), shared({4, 5})}, [](In v) { return matmul(transpose(v[0], 0, 1), transpose(v[1], 0, 1)); },
    [](const Arrays& v) {
      const auto turned = moved([](const Dims& s) { return Dims{s[1], s[0]}; }, [](const Dims& i, const Dims&) { return Dims{i[1], i[0]}; });
      return matmul({turned({v[0]}), turned({v[1]})});
    },
    T::sum, {}, kChained},
   {"linear", {items({3, 5}), w, shared({4})}, lin, linear, T::sum,
    {[](X v) { return linear(v, ones({4, 5})); }, "linear: the input [2, 3] does not fit the weight [4, 5]; they must be [.., in] and [out, in]"}, kChained},
   {"linear/no_bias", {items({3, 5}), w}, lin, linear, T::sum, {}, kChained},
   {"linear/sequence", {items({2, 3, 5}), w, shared({4})}, lin, linear, T::sum, {}, kChained},
   {"linear/one", {shared({5}), w, shared({4})}, lin, linear, T::sum, {}, kChained},
   {"linear/relu", {items({3, 5}), w, shared({4})}, ending(Activation::relu), then([](double a) { return a > 0 ? a : 0; }), T::sum, {}, kChained},
   {"linear/gelu_tanh", {items({3, 5}), shared({8, 5}), shared({8})}, ending(Activation::gelu_tanh), then(gelu_tanh), T::sum, {}, kFractions},
   {"linear/gelu_tanh_no_bias", {items({2, 3, 5}), w}, ending(Activation::gelu_tanh), then(gelu_tanh), T::sum, {}, kFractions},
  };
}

inline Rows rows_and_losses() {
  const Input x = items({3, 5}), image = items({2, 4, 3});
  const Input t = indices({3}, 5), dense = indices({2, 3}, 4), weights = constant(shared({5}, K::positive));
  const auto ce = [](CrossEntropyOptions o) {
    return [o](In v) {
      CrossEntropyOptions with = o;
      if (v.size() > 2) with.weight = v[2];
      return cross_entropy(v[0], v[1], with);
    };
  };
  const auto square = [](double a) { return a * a; };
  const auto size = [](double a) { return std::fabs(a); };
  return {
   {"softmax", {x}, [](In v) { return softmax(v[0], 1); }, [](const Arrays& v) { return softmax(v[0], 1); }, T::sum,
    {[](X v) { return softmax(v, 2); }, "softmax: dimension 2 of a tensor with"}},
   {"softmax/middle", {image}, [](In v) { return softmax(v[0], 1); }, [](const Arrays& v) { return softmax(v[0], 1); }, T::sum},
   {"softmax/first", {items({5, 3}, K::plain, 1)}, [](In v) { return softmax(v[0], 0); }, [](const Arrays& v) { return softmax(v[0], 0); }, T::sum},
   {"log_softmax", {x}, [](In v) { return log_softmax(v[0], -1); }, [](const Arrays& v) { return log_softmax(v[0], 1); }, T::sum,
    {[](X v) { return log_softmax(v, -3); }, "log_softmax: dimension -3 of a tensor with"}},
   {"log_softmax/middle", {image}, [](In v) { return log_softmax(v[0], 1); }, [](const Arrays& v) { return log_softmax(v[0], 1); }, T::sum},
   {"logsumexp", {x}, [](In v) { return logsumexp(v[0], 1); }, reduced(log_sum_exp, {1}), T::sum,
    {[](X v) { return logsumexp(to(v, DType::int64), 0); }, "logsumexp: the tensor is int64"}},
   {"logsumexp/middle_kept", {image}, [](In v) { return logsumexp(v[0], 1, true); }, reduced(log_sum_exp, {1}, true), T::sum},
   {"layer_norm", {x, shared({5}), shared({5})}, [](In v) { return layer_norm(v[0], {5}, v[1], v[2]); }, layer_norm(1), T::sum,
    {[](X v) { return layer_norm(v, {4}); }, "layer_norm: the normalized shape [4] must be the last dimensions of x, [2, 3]"}, kFractions},
   {"layer_norm/plain", {x}, [](In v) { return layer_norm(v[0], {5}); }, layer_norm(1), T::sum},
   {"layer_norm/no_bias", {x, shared({5})}, [](In v) { return layer_norm(v[0], {5}, v[1]); }, layer_norm(1), T::sum, {}, kFractions},
   {"layer_norm/two", {items({2, 3, 4}), shared({3, 4}), shared({3, 4})},
    [](In v) { return layer_norm(v[0], {3, 4}, v[1], v[2], 1e-3); },
    layer_norm(2, 1e-3), T::sum, {}, kFractions},
   {"cross_entropy", {x, t}, ce({}), cross_entropy(Over::mean), T::sum,
    {[](X v) { return cross_entropy(v, ints({0, 3})); }, "cross_entropy: target 3 at position 1 is outside [0, 3) and is not ignore_index -100"}},
   {"cross_entropy/sum", {x, t}, ce({.reduction = Reduction::sum}), cross_entropy(Over::sum), T::sum},
   {"cross_entropy/none", {x, t}, ce({.reduction = Reduction::none}), cross_entropy(Over::none), T::sum},
   {"cross_entropy/weights", {x, t, weights}, ce({}), cross_entropy(Over::mean), T::sum},
   {"cross_entropy/ignore", {x, t}, ce({.ignore_index = 2}), cross_entropy(Over::mean, 2), T::sum},
   {"cross_entropy/smooth", {x, t, weights}, ce({.ignore_index = 1, .label_smoothing = 0.2}), cross_entropy(Over::mean, 1, 0.2), T::sum},
   {"cross_entropy/dense", {image, dense}, ce({}), cross_entropy(Over::mean), T::sum},
   {"cross_entropy/one", {shared({5}), indices({}, 5, -1)}, ce({}), cross_entropy(Over::mean), T::sum},
   {"mse_loss", {x, x}, [](In v) { return mse_loss(v[0], v[1]); }, pair_loss(square, Over::mean), T::sum,
    {[](X v) { return mse_loss(v, ones({2})); }, "mse_loss: prediction [2, 3] and target [2] differ; reshape the target to [2, 3]"}},
   {"mse_loss/sum", {x, x}, [](In v) { return mse_loss(v[0], v[1], Reduction::sum); }, pair_loss(square, Over::sum), T::sum},
   {"mse_loss/none", {x, x}, [](In v) { return mse_loss(v[0], v[1], Reduction::none); }, pair_loss(square, Over::none)},
   {"l1_loss", {x, x}, [](In v) { return l1_loss(v[0], v[1]); }, pair_loss(size, Over::mean), T::sum,
    {[](X v) { return l1_loss(v, ones({3})); }, "l1_loss: prediction [2, 3] and target [3] differ; reshape the target to [2, 3]"}},
   {"l1_loss/sum", {x, x}, [](In v) { return l1_loss(v[0], v[1], Reduction::sum); }, pair_loss(size, Over::sum), T::sum},
   {"l1_loss/none", {x, x}, [](In v) { return l1_loss(v[0], v[1], Reduction::none); }, pair_loss(size, Over::none)},
  };
}

inline Rows picks() {
  return {
   {"embedding", {shared({6, 4}), indices({3}, 6)}, [](In v) { return embedding(v[0], v[1]); }, embedding, T::exact,
    {[](X v) { return embedding(v, ints({0, 2})); }, "embedding: index 2 at position [1]; it must be in [0, 2)"}, kChained},
   {"embedding/matrix", {shared({6, 4}), indices({3, 2}, 6)}, [](In v) { return embedding(v[0], v[1]); }, embedding, T::exact, {}, kChained},
   {"index_select", {items({3, 4}), indices({5}, 4, -1)}, [](In v) { return index_select(v[0], 1, v[1]); }, index_select(1), T::exact,
    {[](X v) { return index_select(v, 0, ints({1, -1})); }, "index_select: index -1 at position [1]; it must be in [0, 2)"}, kChained},
   {"index_select/rows", {shared({3, 4}), indices({5}, 3)}, [](In v) { return index_select(v[0], 0, v[1]); }, index_select(0), T::exact, {}, kChained},
   {"gather", {items({3, 4}), indices({3, 6}, 4)}, [](In v) { return gather(v[0], 1, v[1]); }, gather(1), T::exact,
    {[](X v) { return gather(v, 0, ints({1, 0})); }, "gather: the index is [2], the tensor is [2, 3]"}, kChained},
   {"gather/first", {shared({3, 4}), indices({5, 2}, 3)}, [](In v) { return gather(v[0], 0, v[1]); }, gather(0), T::exact, {}, kChained},
   {"index_add", {items({3, 4}), indices({5}, 4, -1), items({3, 5})}, [](In v) { return index_add(v[0], 1, v[1], v[2]); }, scatter_add(1), T::sum,
    {[](X v) { return index_add(v, 0, ints({0}), ones({2, 3})); }, "index_add: what is added has shape [2, 3]; for this index it must be [1, 3]"}},
   {"scatter_add", {items({3, 4}), indices({3, 5}, 4), items({3, 5})}, [](In v) { return scatter_add(v[0], 1, v[1], v[2]); }, scatter_add(1), T::sum,
    {[](X v) { return scatter_add(v, 0, to(zeros({2, 3}), DType::int64) + 2, v); }, "scatter_add: index 2 at position [0, 0]; it must be in [0, 2)"}},
   {"scatter_add/part", {items({3, 4}), indices({3, 2}, 4), items({3, 5})}, [](In v) { return scatter_add(v[0], 1, v[1], v[2]); }, scatter_add(1),
    T::sum},
  };
}

inline Rows shapes() {
  const Input x = items({2, 3, 4});
  const auto turned = moved([](const Dims& s) { return Dims{s[0], s[2], s[1]}; }, [](const Dims& i, const Dims&) { return Dims{i[0], i[2], i[1]}; });
  const auto sliced = [](int d, int64_t from, int64_t n, int64_t step) {
    return moved([=](const Dims& s) { return with(s, d, n); }, [=](const Dims& i, const Dims&) { return with(i, d, from + step * i[d]); });
  };
  const auto flat = reshaped([](const Dims& s) { return Dims{s[0], s[1] * s[2]}; });
  const auto dropped = [](int d, int64_t at) {
    return moved([=](const Dims& s) { return without(s, d); }, [=](Dims i, const Dims&) { return i.insert(d, at), i; });
  };
  return {
   {"transpose", {x}, [](In v) { return transpose(v[0], 1, 2); }, turned, T::exact,
    {[](X v) { return transpose(v, 0, 2); }, "transpose: dimension 2 of a tensor with"}},
   {"t", {items({3, 4})}, [](In v) { return t(v[0]); },
    moved(
     [](const Dims& s) { return Dims{s[1], s[0]}; }, [](const Dims& i, const Dims&) {
       return Dims{i[1], i[0]};
     }),
    T::exact,
    {[](X) { return t(ones({2, 2, 2})); }, "t: the tensor is [2, 2, 2]"}},
   {"permute", {x},
    [](In v) { return permute(v[0], {2, 0, 1}); }, moved(
     [](const Dims& s) { return Dims{s[2], s[0], s[1]}; }, [](const Dims& i, const Dims&) {
       return Dims{i[1], i[2], i[0]};
     }),
    T::exact,
    {[](X v) { return permute(v, {0, 0}); }, "permute: dimension 0 comes twice"}},
   {"slice", {x}, [](In v) { return slice(v[0], 1, 1, 3); }, sliced(1, 1, 2, 1), T::exact,
    {[](X v) { return slice(v, 0, 0, 2, -1); }, "slice: step -1; it must be positive"}},
   {"slice/step", {x}, [](In v) { return slice(v[0], 2, 1, -1, 2); }, sliced(2, 1, 1, 2), T::exact},
   {"slice/step_all", {x}, [](In v) { return slice(v[0], -1, 0, 99, 2); }, sliced(2, 0, 2, 2), T::exact},
   {"narrow", {x}, [](In v) { return narrow(v[0], 2, 1, 2); }, sliced(2, 1, 2, 1), T::exact, {[](X v) { return narrow(v, 1, 2, 2); }, "narrow: 2 elements from 2 of dimension 1 of [2, 3]; they must lie inside its 3"}},
   {"select", {x}, [](In v) { return select(v[0], 1, -1); }, dropped(1, 2), T::exact,
    {[](X v) { return select(v, 1, 3); }, "select: index 3 of dimension 1"}},
   {"expand", {items({2, 1, 4})},
    [](In v) { return expand(v[0], {-1, 3, 4}); }, moved([](const Dims& s) { return with(s, 1, 3); }, [](const Dims& i, const Dims&) { return with(i, 1, 0); }), T::exact,
    {[](X v) { return expand(v, {2, 6}); }, "expand: [2, 3] to [2, 6]"}, kChained},
   {"expand/in_front", {shared({4})},
    [](In v) { return expand(v[0], {3, 4}); }, moved(
     [](const Dims& s) { return Dims{3, s[0]}; }, [](const Dims& i, const Dims&) { return Dims{i[1]}; }),
    T::exact, {}, kChained},
   {"reshape", {x},
    [](In v) { return reshape(v[0], {v[0].size(0), 12}); },
    flat, T::exact,
    {[](X v) { return reshape(v, {4, -1}); }, "reshape: [2, 3] has 6 elements"}},
   {"reshape/copies", {x},
    [](In v) { return reshape(transpose(v[0], 1, 2), {v[0].size(0), 12}); }, [=](const Arrays& v) { return flat({turned(v)}); }, T::exact},
   {"view", {x},
    [](In v) { return view(v[0], {v[0].size(0), 12}); },
    flat, T::exact, {[](X v) { return view(transpose(v, 0, 1), {6}); }, "view: a tensor of shape [3, 2]"}, {.dense_only = true}},
   {"flatten", {x}, [](In v) { return flatten(v[0], 1); }, flat, T::exact,
    {[](X v) { return flatten(v, 1, 0); }, "flatten: dimension 1 comes after 0"}},
   {"squeeze", {items({2, 1, 4})}, [](In v) { return squeeze(v[0], 1); }, dropped(1, 0), T::exact,
    {[](X v) { return squeeze(v, 2); }, "squeeze: dimension 2 of a tensor with"}},
   {"squeeze/all", {shared({1, 3, 1})}, [](In v) { return squeeze(v[0]); }, reshaped([](const Dims&) { return Dims{3}; }), T::exact},
   {"unsqueeze", {items({2, 3})}, [](In v) { return unsqueeze(v[0], -1); }, reshaped([](Dims s) { return s.push_back(1), s; }), T::exact,
    {[](X v) { return unsqueeze(v, 4); }, "unsqueeze: dimension 4 of a tensor with"}},
   {"contiguous", {x}, [](In v) { return contiguous(transpose(v[0], 1, 2)); }, turned, T::exact,
    {[](X) { return contiguous(Tensor()); }, "contiguous: a tensor is not defined"}},
   {"clone", {x}, [](In v) { return clone(v[0]); }, same(), T::exact, {[](X) { return clone(Tensor()); }, "clone: a tensor is not defined"}},
   {"repeat", {items({2, 3})},
    [](In v) { return repeat(v[0], {1, 2}); }, moved(
     [](const Dims& s) { return Dims{s[0], 2 * s[1]}; }, [](const Dims& i, const Dims& s) {
       return Dims{i[0], i[1] % s[1]};
     }),
    T::exact, {[](X v) { return repeat(v, {2}); }, "repeat: [2, 3] [2] times"}, {.adds = Adds::chained, .node = "expand"}},
   {"repeat/in_front", {shared({3})},
    [](In v) { return repeat(v[0], {2, 2}); }, moved(
     [](const Dims& s) { return Dims{2, 2 * s[0]}; }, [](const Dims& i, const Dims& s) { return Dims{i[1] % s[0]}; }),
    T::exact, {}, {.adds = Adds::chained, .node = "expand"}},
   {"roll", {x}, [](In v) { return roll(v[0], 1, 2); },
    moved([](const Dims& s) { return s; }, [](const Dims& i, const Dims& s) { return with(i, 2, (i[2] + s[2] - 1) % s[2]); }), T::exact,
    {[](X v) { return roll(v, 1, 2); }, "roll: dimension 2 of a tensor with"}},
   {"flip", {x},
    [](In v) { return flip(v[0], {1, 2}); }, moved([](const Dims& s) { return s; },
     [](const Dims& i, const Dims& s) {
       return Dims{i[0], s[1] - 1 - i[1], s[2] - 1 - i[2]};
     }),
    T::exact,
    {[](X v) { return flip(v, {0, 0}); }, "flip: dimension 0 comes twice in [0, 0]; name each at most once"}},
   {"split", {x}, [](In v) { return split(v[0], 2, 2)[1]; }, sliced(2, 2, 2, 1), T::exact,
    {[](X v) { return split(v, {1, 1}, 1)[0]; }, "split: the sizes of the pieces leave 1 of the 3"}},
   {"chunk", {x}, [](In v) { return chunk(v[0], 2, 1)[1]; }, sliced(1, 2, 1, 1), T::exact,
    {[](X v) { return chunk(v, 0)[0]; }, "chunk: 0 pieces; there must be at least one"}},
   {"unbind", {x}, [](In v) { return unbind(v[0], 1)[1]; }, dropped(1, 1), T::exact,
    {[](X v) { return unbind(v, 5)[0]; }, "unbind: dimension 5 of a tensor with 2 dimensions; it must be in [-2, 2)"}},
   {"cat", {items({3, 2}), items({3, 4})}, [](In v) { return cat(v, 1); }, cat(1), T::exact,
    {[](X v) { return accrue::cat({v, ones({2, 4})}); }, "cat: the shapes differ outside dimension 0"}},
   {"cat/rows", {shared({2, 3}), items({4, 3}), shared({1, 3})}, [](In v) { return cat(v); }, cat(0), T::exact},
   {"cat/itself", {x},
    [](In v) { return accrue::cat({v[0], v[0]}, 2); }, moved([](const Dims& s) { return with(s, 2, 2 * s[2]); }, [](const Dims& i, const Dims& s) { return with(i, 2, i[2] % s[2]); }), T::exact, {}, kChained},
   {"stack", {items({3, 2}), items({3, 2})}, [](In v) { return stack(v, 1); }, stack(1), T::exact,
    {[](X v) { return accrue::stack({v, ones({3, 2})}); }, "stack: the shapes differ: tensor 0 is [2, 3]"}},
   {"stack/first", {shared({3, 2}), shared({3, 2}), shared({3, 2})}, [](In v) { return stack(v); }, stack(0), T::exact},
  };
}

inline Rows images() {
  const Input x = items({2, 2, 5, 6}), w = shared({4, 2, 3, 2}), bias = shared({4}), d = items({2, 2, 5, 6}, K::distinct);
  const auto conv = [](Conv2dOptions o) { return [o](In v) { return conv2d(v[0], v[1], v.size() > 2 ? v[2] : Tensor(), o); }; };
  return {
   {"conv2d", {x, w, bias}, conv({}), conv2d(), T::sum,
    {[](X v) { return conv2d(v, ones({4, 2, 3, 3})); }, "conv2d: x has shape [2, 3]"}, kChained},
   {"conv2d/no_bias", {x, w}, conv({}), conv2d(), T::sum, {}, kChained},
   {"conv2d/padding", {x, w, bias}, conv({.padding = {1, 2}}), conv2d({.padding = {1, 2}}), T::sum, {}, kChained},
   {"conv2d/stride", {x, w, bias}, conv({.stride = {2, 3}, .padding = {1, 0}}), conv2d({.stride = {2, 3}, .padding = {1, 0}}), T::sum, {}, kChained},
   {"conv2d/dilation", {x, w, bias}, conv({.dilation = {2, 3}}), conv2d({.dilation = {2, 3}}), T::sum, {}, kChained},
   {"conv2d/groups", {x, shared({4, 1, 3, 2}), bias}, conv({.groups = 2}), conv2d({.groups = 2}), T::sum, {}, kChained},
   {"conv2d/all", {items({2, 4, 5, 6}), shared({4, 2, 2, 2}), bias}, conv({.stride = {2, 1}, .padding = {1, 1}, .dilation = {1, 2}, .groups = 2}),
    conv2d({.stride = {2, 1}, .padding = {1, 1}, .dilation = {1, 2}, .groups = 2}), T::sum, {}, kChained},
   {"conv2d/1x1", {x, shared({3, 2, 1, 1}), shared({3})}, conv({}), conv2d(), T::sum, {}, kChained},
   {"conv2d/one_image", {shared({2, 5, 6}), w, bias}, conv({}),
    [](const Arrays& v) {
      Arrays in = v;
      in[0].shape.insert(0, 1);
      Array y = conv2d()(in);
      y.shape.erase(0);
      return y;
    },
    T::sum, {}, kChained},
   {"conv1d", {items({2, 2, 7}), shared({4, 2, 3}), bias}, [](In v) { return conv1d(v[0], v[1], v[2], {.stride = 2, .padding = 1}); },
    [](const Arrays& v) {
      Arrays in = v;
      in[0].shape.insert(2, 1);
      in[1].shape.insert(2, 1);
      Array y = conv2d({.stride = {1, 2}, .padding = {0, 1}})(in);
      y.shape.erase(2);
      return y;
    },
    T::sum,
    {[](X v) { return conv1d(v, ones({4, 3, 2})); }, "conv1d: x has 2 channels"}, kChained},
   {"max_pool2d", {d}, [](In v) { return max_pool2d(v[0], {}); }, max_pool2d({.kernel = {2, 2}, .stride = {2, 2}}), T::exact,
    {[](X v) { return max_pool2d(v, {}); }, "max_pool2d: x has shape [2, 3]"}},
   {"max_pool2d/overlap", {d},
    [](In v) { return max_pool2d(v[0], {.kernel = {3, 2}, .stride = {1, 1}, .padding = {1, 1}}); },
    max_pool2d({.kernel = {3, 2}, .padding = {1, 1}}), T::exact, {}, kChained},
   {"max_pool2d/dilation", {d},
    [](In v) { return max_pool2d(v[0], {.stride = {1, 2}, .dilation = {2, 3}, .ceil_mode = true}); },
    max_pool2d({.kernel = {2, 2}, .stride = {1, 2}, .dilation = {2, 3}, .ceil_mode = true}), T::exact},
   {"avg_pool2d", {x}, [](In v) { return avg_pool2d(v[0], {}); }, avg_pool2d({.kernel = {2, 2}, .stride = {2, 2}}), T::sum,
    {[](X) { return avg_pool2d(ones({1, 1, 2, 2}), {.kernel = {3, 3}}); }, "avg_pool2d: the kernel is larger than the input"}},
   {"avg_pool2d/padding", {x},
    [](In v) { return avg_pool2d(v[0], {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}}); },
    avg_pool2d({.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}}), T::sum, {}, kChained},
   {"avg_pool2d/ceil", {x},
    [](In v) { return avg_pool2d(v[0], {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true, .count_include_pad = false}); },
    avg_pool2d({.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true}, -1), T::sum, {}, kChained},
   {"avg_pool2d/divisor", {x}, [](In v) { return avg_pool2d(v[0], {.divisor_override = 3}); }, avg_pool2d({.kernel = {2, 2}, .stride = {2, 2}}, 3),
    T::sum},
  };
}

inline Rows attention_dropout_and_casts() {
  const Input q = items({2, 3, 4}), k = items({2, 5, 4}), v = items({2, 5, 3}), x = items(k34);
  const auto sdpa = [](bool causal, double scale = 0) {
    return [=](In in) {
      return scaled_dot_product_attention(in[0], in[1], in[2], {.mask = in.size() > 3 ? in[3] : Tensor(), .is_causal = causal, .scale = scale});
    };
  };
  // Which elements stay depends on the seed, the call and the place alone, so that the numbers of
  // ones() tell.
  const auto kept = [](const Array& a) {
    manual_seed(7);
    const Tensor y = dropout(ones(a.shape, DType::float64), 0.5);
    return y.to_vector<double>();
  };
  return {
   {"scaled_dot_product_attention", {q, k, v}, sdpa(false), attention(), T::sum,
    {[](X a) { return scaled_dot_product_attention(a, ones({2, 4}), a, {.dropout_p = 0.5}); },
     "scaled_dot_product_attention: queries and keys must be equally wide: q is [2, 3], k is [2, 4]"},
    kFractions},
   {"scaled_dot_product_attention/causal", {q, k, v}, sdpa(true, 0.25), attention({.causal = true, .scale = 0.25}), T::sum, {}, kFractions},
   {"scaled_dot_product_attention/bool_mask", {q, k, v, booleans({3, 5}, -1)}, sdpa(false), attention({.boolean_mask = true}), T::sum, {}, kFractions},
   {"scaled_dot_product_attention/both_masks", {q, k, v, booleans({2, 1, 5})}, sdpa(true), attention({.causal = true, .boolean_mask = true}), T::sum,
    {}, kFractions},
   {"scaled_dot_product_attention/float_mask", {q, k, v, constant(shared({3, 5}))}, sdpa(false), attention(), T::sum, {}, kFractions},
   {"scaled_dot_product_attention/heads", {items({2, 2, 3, 4}), items({2, 2, 3, 4}), items({2, 2, 3, 2})}, sdpa(true), attention({.causal = true}),
    T::sum, {}, kFractions},
   {"packed_attention", {items({2, 3, 12})}, [](In in) { return packed_attention(in[0], 2); },
    [](const Arrays& in) {
      const auto head = [&](int64_t which) {  // [batch, head, time, e] of q, k or v
        return build({in[0].shape[0], 2, 3, 2}, [&](const Dims& i) { return in[0]({i[0], i[2], 4 * which + 2 * i[1] + i[3]}); });
      };
      const Array y = attention()({head(0), head(1), head(2)});
      return build({in[0].shape[0], 3, 4}, [&](const Dims& i) { return y({i[0], i[2] / 2, i[1], i[2] % 2}); });
    }, T::sum,
    {[](X a) { return packed_attention(a, 2); }, "packed_attention: the input has shape [2, 3] for 2 heads; it must be [batch, time, 3 * heads * width]"}, kFractions},
   {"dropout", {x}, [](In in) { return manual_seed(7), dropout(in[0], 0.5); },
    [=](const Arrays& in) {
      Array y = in[0];
      const std::vector<double> scale = kept(y);
      for (size_t i = 0; i < y.v.size(); ++i) y.v[i] *= scale[i];
      return y;
    },
    T::exact, {[](X a) { return dropout(a, 1.5); }, "dropout: the probability is 1.5; it must be in [0, 1]"}},
   {"dropout/resting", {x}, [](In in) { return dropout(in[0], 0.5, false); }, same(), T::exact},
   {"dropout/all", {x}, [](In in) { return dropout(in[0], 1); }, each([](double) { return 0.0; }), T::exact},
   {"cast", {x}, [](In in) { return cast(in[0], DType::float32); }, each([](double a) -> double { return static_cast<float>(a); }), T::exact,
    {[](X) { return cast(Tensor(), DType::float64); }, "cast: a tensor is not defined"}, {.fixed_dtype = true}},
   {"cast/wider", {x}, [](In in) { return cast(in[0], DType::float64); }, same(), T::exact},
   {"cast/whole", {x}, [](In in) { return cast(in[0], DType::int32); }, each([](double a) { return std::trunc(a); }), T::exact, {},
    {.differentiable = false}},
   {"to/dtype", {x}, [](In in) { return to(in[0], DType::float64) * 2; }, each([](double a) { return 2 * a; }), T::exact, {}, {.node = "cast"}},
   {"to", {x}, [](In in) { return to(in[0], Device()); }, same(), T::exact,
    {[](X) { return to(Tensor(), Device()); }, "to: a tensor is not defined"}},
  };
}
}  // namespace table
// clang-format on

/// Every row.
inline std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  for (auto* family : {table::arithmetic, table::functions_of_one, table::choice_and_comparison,
                       table::reductions, table::products, table::rows_and_losses, table::picks,
                       table::shapes, table::images, table::attention_dropout_and_casts}) {
    for (OpCase& row : family()) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace accrue::testing
