// Random cases of what computes each element alone: arithmetic, activations, choices, comparisons,
// dropout and casts. Read next: random_rows.cpp, where the elements of a row meet.
#include <cmath>

#include "tests/ops/random_chapters.h"
#include "tests/ops/references.h"

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

using namespace table;

/// y = f({a, b, ..}), element by element over the broadcast.
OpReference pointwise(std::function<double(const std::vector<double>&)> f) {
  return [f = std::move(f)](const Arrays& x) {
    return build(common_shape(x), [&](const Dims& i) {
      std::vector<double> at;
      for (const Array& a : x) at.push_back(stretched(a, i));
      return f(at);
    });
  };
}

// ---- arithmetic ----

struct Binary {
  const char* name;
  Tensor (*f)(X, X);
  double (*right)(double, double);
  Kind left_kind = Kind::plain, right_kind = Kind::plain;
  Tolerance tolerance = Tolerance::rounded;
  OpTraits traits = kAnyChain;
  Tensor (*and_number)(X, Scalar) = nullptr;
  Tensor (*of_number)(Scalar, X) = nullptr;
};

OpCase broadcasts(Random& r, const Binary& op) {
  const Dims full = r.shape(0, 5, 600, true);
  const double number = r.of({0.5, 1.5, 2.0, 3.0});
  const Array constant{{}, {number}};
  if (op.and_number && r.one_in(6))
    return made(
        concat(op.name, " ", full, " and ", number), {shared(full, op.left_kind)},
        [=](V v) { return op.and_number(v[0], number); },
        [=](const Arrays& v) {
          return each(op.right)({v[0], constant});
        },
        op.tolerance, op.traits);
  if (op.of_number && r.one_in(6))
    return made(
        concat(op.name, " ", number, " and ", full), {shared(full, op.right_kind)},
        [=](V v) { return op.of_number(number, v[0]); },
        [=](const Arrays& v) {
          return each(op.right)({constant, v[0]});
        },
        op.tolerance, op.traits);
  const Dims a = r.stretching_to(full), b = r.stretching_to(full);
  return made(
      concat(op.name, " ", a, b), {shared(a, op.left_kind), shared(b, op.right_kind)},
      [op](V v) { return op.f(v[0], v[1]); }, each(op.right), op.tolerance, op.traits);
}

struct Unary {
  const char* name;
  Tensor (*f)(X);
  double (*right)(double);
  Tolerance tolerance = Tolerance::transcendental;
  Kind kind = Kind::plain;
};

OpCase of_one(Random& r, const std::string& name, const std::function<Tensor(X)>& f,
              const OpReference& right, Tolerance tolerance, Kind kind = Kind::plain) {
  const Dims shape = r.shape(0, 6, 1500, true);
  return {concat(name, " ", shape),
          {shared(shape, kind)},
          [f](V v) { return f(v[0]); },
          right,
          tolerance};
}

OpCase unaries(Random& r, const Unary& op) {
  return of_one(r, op.name, op.f, each(op.right), op.tolerance, op.kind);
}

OpCase gelu_case(Random& r) {
  const bool exact = r.one_in(2);
  return of_one(
      r, exact ? "gelu" : "gelu by tanh",
      [=](X x) { return gelu(x, exact ? GeluApproximation::none : GeluApproximation::tanh); },
      each(exact ? table::gelu : gelu_tanh), Tolerance::transcendental);
}

OpCase softplus_case(Random& r) {
  const double beta = r.of({0.5, 1.0, 2.0, 3.0});
  return of_one(
      r, concat("softplus beta ", beta), [=](X x) { return softplus(x, beta); },
      pointwise([=](const auto& v) { return std::log1p(std::exp(beta * v[0])) / beta; }),
      Tolerance::transcendental);
}

OpCase clamp_case(Random& r) {
  const double low = 0.25 * static_cast<double>(r.whole(-8, 8));
  const double high = r.one_in(4) ? kUnbounded : low + 0.25 * static_cast<double>(r.whole(0, 8));
  return of_one(
      r, concat("clamp to ", low, " .. ", high), [=](X x) { return clamp(x, low, high); },
      pointwise([=](const auto& v) { return v[0] < low    ? low
                                            : v[0] > high ? high
                                                          : v[0]; }),
      Tolerance::exact);
}

// ---- choices and comparisons ----

OpCase where_case(Random& r) {
  const Dims full = r.shape(0, 4, 400, true);
  const Dims c = r.stretching_to(full), a = r.stretching_to(full), b = r.stretching_to(full);
  switch (r.whole(0, 3)) {
    case 0:
      return made(
          concat("where ", c, a, " or 1.5"), {booleans(c, -1), shared(a)},
          [](V v) { return where(v[0], v[1], 1.5); },
          each([](double which, double x) { return which != 0 ? x : 1.5; }), Tolerance::exact,
          kAnyChain);
    case 1:
      return made(
          concat("where ", c, " 1.5 or ", b), {booleans(c, -1), shared(b)},
          [](V v) { return where(v[0], 1.5, v[1]); },
          each([](double which, double x) { return which != 0 ? 1.5 : x; }), Tolerance::exact,
          kAnyChain);
    default:
      return made(
          concat("where ", c, a, b), {booleans(c, -1), shared(a), shared(b)},
          [](V v) { return where(v[0], v[1], v[2]); },
          each([](double which, double x, double y) { return which != 0 ? x : y; }),
          Tolerance::exact, kAnyChain);
  }
}

OpCase masked_fill_case(Random& r) {
  const Dims full = r.shape(0, 5, 600, true), mask = r.stretching_to(full);
  const double value = r.of({0.0, -1.5, 2.0});
  return made(
      concat("masked_fill ", full, " by ", mask, " with ", value),
      {shared(full), booleans(mask, -1)}, [=](V v) { return masked_fill(v[0], v[1], value); },
      pointwise([=](const auto& v) { return v[1] != 0 ? value : v[0]; }), Tolerance::exact,
      kAnyChain);
}

struct Comparison {
  const char* name;
  Tensor (*f)(X, X);
  bool (*right)(double, double);
  Tensor (*with_number)(X, Scalar) = nullptr;
};

/// Of numbers that are often equal, often 0.
OpCase comparisons(Random& r, const Comparison& op) {
  const Dims full = r.shape(0, 4, 600, true);
  const Dims a = r.stretching_to(full), b = r.stretching_to(full);
  const DType dtype = r.of({DType::int64, DType::int32, DType::float32, DType::float64});
  const auto compared = [&](const std::string& how, const std::vector<Input>& inputs,
                            const OpFunction& f,
                            const std::function<bool(const std::vector<double>&)>& right) {
    return made(concat(op.name, " ", how), inputs, f, pointwise(right), Tolerance::exact,
                kNoGradient);
  };
  switch (r.whole(0, op.with_number ? 3 : 2)) {
    case 0:
      return compared(
          concat("whole numbers ", a, b), {indices(a, 3, -1), indices(b, 3, -1)},
          [op](V v) { return op.f(v[0], v[1]); },
          [op](const auto& v) { return op.right(v[0], v[1]); });
    case 1:
      return compared(
          concat("whole numbers ", a, b, " as dtype ", static_cast<int>(dtype)),
          {indices(a, 3, -1), indices(b, 3, -1)},
          [=](V v) { return op.f(cast(v[0], dtype), cast(v[1], dtype)); },
          [op](const auto& v) { return op.right(v[0], v[1]); });
    case 2:  // the second is the first here, and 0 there
      return compared(
          concat(full, full), {shared(full), booleans(full, -1)},
          [op](V v) { return op.f(v[0], masked_fill(v[0], v[1], 0)); },
          [op](const auto& v) { return op.right(v[0], v[1] != 0 ? 0 : v[0]); });
    default:
      return compared(
          concat("whole numbers ", full, " and 1"), {indices(full, 3, -1)},
          [op](V v) { return op.with_number(v[0], 1); },
          [op](const auto& v) { return op.right(v[0], 1); });
  }
}

OpCase logical_not_case(Random& r) {
  const Dims shape = r.shape(0, 5, 600, true);
  const bool boolean = r.one_in(2);
  return made(
      concat("logical_not ", shape, boolean ? " booleans" : " whole numbers"),
      {boolean ? booleans(shape, -1) : indices(shape, 3, -1)},
      [](V v) { return logical_not(v[0]); }, each([](double a) -> double { return a == 0; }),
      Tolerance::exact, kNoGradient);
}

OpCase isnan_case(Random& r) {
  const Dims shape = r.shape(1, 5, 600, true);
  const int d = r.dim(shape), e = r.dim(shape);
  return made(
      concat("isnan ", shape, " transposed ", d, e), {shared(shape), booleans(shape, -1)},
      [=](V v) { return isnan(transpose(masked_fill(v[0], v[1], std::nan("")), d, e)); },
      [=](const Arrays& v) {
        const auto turned = [=](Dims i) { return std::swap(i[d], i[e]), i; };
        return build(turned(shape), [&](const Dims& i) { return v[1](turned(i)); });
      },
      Tolerance::exact, kNoGradient);
}

// ---- dropout and casts ----

/// y = x / (1 - p) or 0. Which ones stay depends on the seed and the place alone: ones() tell.
OpCase dropout_case(Random& r) {
  const Dims shape = r.shape(0, 5, 600, true);
  const double p = r.of({0.0, 0.25, 0.5, 0.75, 0.9, 1.0});
  const bool training = !r.one_in(5);
  const auto seed = static_cast<uint64_t>(r.whole(0, 1000));
  return made(
      concat("dropout ", shape, " p ", p, training ? " seed " : " resting ", seed), {shared(shape)},
      [=](V v) { return manual_seed(seed), dropout(v[0], p, training); },
      [=](const Arrays& v) {
        Array y = v[0];
        if (!training) return y;
        manual_seed(seed);
        const auto stays = dropout(ones(y.shape, DType::float64), p).to_vector<double>();
        for (size_t i = 0; i < y.v.size(); ++i) y.v[i] = stays[i] != 0 ? y.v[i] / (1 - p) : 0;
        return y;
      },
      Tolerance::rounded, kAnyFractions);
}

/// The nearest number of `digits` binary digits; a tie goes to the even one.
double rounded_to(int digits, double a) {
  int exponent = 0;
  const double fraction = std::frexp(a, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

double as(DType dtype, double a) {
  switch (dtype) {
    case DType::float64:
      return a;
    case DType::float32:
      return static_cast<float>(a);
    case DType::float16:
      return rounded_to(11, a);
    case DType::bfloat16:
      return rounded_to(8, a);
    case DType::boolean:
      return a != 0;
    default:
      return std::trunc(a);
  }
}

OpCase casts(Random& r, Tensor (*f)(X, DType), const char* name) {
  const Dims shape = r.shape(0, 5, 600, true);
  const auto dtype =
      r.of({DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::float32,
            DType::float64, DType::int32, DType::int64, DType::boolean});
  const Input x = r.of({shared(shape), shared(shape), booleans(shape, -1), indices(shape, 9, -1)});
  return made(concat(name, " ", shape, " of kind ", static_cast<int>(x.kind), " to dtype ",
                     static_cast<int>(dtype)),
              {x}, [=](V v) { return f(v[0], dtype); },
              pointwise([=](const auto& v) { return as(dtype, v[0]); }), Tolerance::exact,
              {.differentiable = is_floating(dtype) && x.floating(),
               .fixed_dtype = dtype != DType::float64});
}

OpCase to_case(Random& r) {
  if (r.one_in(2)) return casts(r, to, "to");
  return of_one(
      r, "to device", [](X x) { return to(x, Device()); }, same(), Tolerance::exact);
}

}  // namespace

void add_elementwise(const OpAdder& has) {
  // clang-format off
  for (const Binary& op : std::initializer_list<Binary>{
    {.name = "add", .f = add, .right = [](double a, double b) { return a + b; }, .and_number = add},
    {.name = "sub", .f = sub, .right = [](double a, double b) { return a - b; }, .and_number = sub, .of_number = sub},
    {.name = "mul", .f = mul, .right = [](double a, double b) { return a * b; }, .and_number = mul},
    {.name = "div", .f = div, .right = [](double a, double b) { return a / b; }, .right_kind = Kind::positive,
     .traits = kAnyFractions, .and_number = div, .of_number = div},
    {.name = "pow", .f = pow, .right = [](double a, double b) { return std::pow(a, b); }, .left_kind = Kind::positive,
     .tolerance = Tolerance::transcendental, .traits = kAnyFractions, .and_number = pow, .of_number = pow},
    {.name = "maximum", .f = maximum, .right = [](double a, double b) { return a > b ? a : b; }, .tolerance = Tolerance::exact},
    {.name = "minimum", .f = minimum, .right = [](double a, double b) { return a < b ? a : b; }, .tolerance = Tolerance::exact},
  }) has(op.name, broadcasts, op);
  for (const Unary& op : std::initializer_list<Unary>{
    {"neg", neg, [](double a) { return -a; }, Tolerance::exact},
    {"abs", abs, [](double a) { return std::fabs(a); }, Tolerance::exact},
    {"exp", exp, [](double a) { return std::exp(a); }},
    {"log", log, [](double a) { return std::log(a); }, Tolerance::transcendental, Kind::positive},
    {"sqrt", sqrt, [](double a) { return std::sqrt(a); }, Tolerance::rounded, Kind::positive},
    {"sin", sin, [](double a) { return std::sin(a); }},
    {"cos", cos, [](double a) { return std::cos(a); }},
    {"tanh", tanh, [](double a) { return std::tanh(a); }},
    {"sigmoid", accrue::sigmoid, table::sigmoid},
    {"relu", relu, [](double a) { return a > 0 ? a : 0; }, Tolerance::exact},
    {"silu", silu, [](double a) { return a * table::sigmoid(a); }},
  }) has(op.name, unaries, op);
  // clang-format on
  has("gelu", gelu_case);
  has("softplus", softplus_case);
  has("clamp", clamp_case);
  has("where", where_case);
  has("masked_fill", masked_fill_case);
  // clang-format off
  for (const Comparison& op : std::initializer_list<Comparison>{
    {"eq", eq, [](double a, double b) { return a == b; }, eq},
    {"ne", ne, [](double a, double b) { return a != b; }, ne},
    {"lt", lt, [](double a, double b) { return a < b; }, lt},
    {"le", le, [](double a, double b) { return a <= b; }, le},
    {"gt", gt, [](double a, double b) { return a > b; }, gt},
    {"ge", ge, [](double a, double b) { return a >= b; }, ge},
    {"logical_and", logical_and, [](double a, double b) { return a != 0 && b != 0; }},
    {"logical_or", logical_or, [](double a, double b) { return a != 0 || b != 0; }},
  }) has(op.name, comparisons, op);
  // clang-format on
  has("logical_not", logical_not_case);
  has("isnan", isnan_case);
  has("dropout", dropout_case);
  has("cast", casts, static_cast<Tensor (*)(X, DType)>(cast), "cast");
  has("to", to_case);
}

}  // namespace accrue::testing
