// Elementwise kernels on device cuda against those of the CPU, which tests/kernels holds to
// algebra; and wrap-around. Read next: elementwise_sum_test.cpp.
#include "tests/cuda/elementwise.h"

namespace accrue::testing {
namespace {

// ---- every function of the tables ----

/// Whether a function is made of correctly rounded operations.
bool is_exact(const std::string& name) {
  if (name.starts_with("logical")) return true;
  for (const char* part :
       {"exp", "log", "sin", "cos", "tanh", "sigmoid", "gelu", "silu", "softplus", "pow"})
    if (name.find(part) != std::string::npos) return false;
  return true;
}

/// Special values first, then some().
Tensor arguments(const Dims& shape, DType dtype, int seed, bool special) {
  Values values = some(shape, dtype, seed).to_vector<double>();
  if (special) {
    const Values first[] = {{0, -0.0, kNan, kInf, -kInf, 1, 1}, {0, 1, 1, -kInf, kInf, 1, kNan}};
    std::copy(first[seed % 2].begin(), first[seed % 2].end(), values.begin());
  }
  return tensor(values, shape, dtype);
}

template <class Op, class Call>
void for_every_function(int arity, Call call) {
  for (size_t i = 0; i < static_cast<size_t>(Op::count); ++i) {
    const auto f = static_cast<Op>(i);
    SCOPED_TRACE(name_of(f));
    const bool exact = is_exact(name_of(f));
    for (const DType dtype : {float32, float64}) {
      Tensors inputs;
      for (int a = 0; a < arity; ++a) inputs.push_back(arguments({6, 7}, dtype, a, exact));
      // Densely, and by the kernel for any strides.
      call(f, inputs, exact ? 0 : 8, [](const Tensor& x) { return x; });
      call(f, inputs, exact ? 0 : 8, [](const Tensor& x) { return transpose(x, 0, 1); });
    }
  }
}

TEST_F(Elementwise, EveryUnaryFunctionIsThatOfTheCpu) {
  for_every_function<Unary>(1, [&](Unary f, const Tensors& inputs, double units, auto as) {
    expect_as_on_cpu(
        inputs,
        [=](const Tensors& x) -> Tensors {
          const Tensor a = as(x[0]), y = empty(a.shape(), a.dtype(), a.device());
          unary(f, a, into(y), {.a = 1.5, .b = 2.5});
          return {y};
        },
        units);
  });
}

TEST_F(Elementwise, EveryBinaryFunctionIsThatOfTheCpu) {
  for_every_function<Binary>(2, [&](Binary f, const Tensors& inputs, double units, auto as) {
    expect_as_on_cpu(
        inputs,
        [=](const Tensors& x) -> Tensors {
          const Tensor a = as(x[0]), y = empty(a.shape(), a.dtype(), a.device());
          binary(f, a, as(x[1]), into(y), {.a = 1.5, .b = 2.5});
          return {y};
        },
        units);
  });
}

TEST_F(Elementwise, EveryTernaryFunctionIsThatOfTheCpu) {
  for_every_function<Ternary>(3, [&](Ternary f, const Tensors& inputs, double units, auto as) {
    expect_as_on_cpu(
        inputs,
        [=](const Tensors& x) -> Tensors {
          const Tensor a = as(x[0]), y = empty(a.shape(), a.dtype(), a.device());
          ternary(f, a, as(x[1]), as(x[2]), into(y), {.a = 1.5, .b = 2.5});
          return {y};
        },
        units);
  });
}

TEST_F(Elementwise, PowersThatAreSpecialToTheCpuAreSoHere) {
  for (const double a : {2.0, 1.0, 0.0, -1.0, 3.0, 0.5})
    expect_as_on_cpu({arguments({33}, float32, 0, true)}, [a](const Tensors& x) -> Tensors {
      const Tensor y = empty_like(x[0]), dx = empty_like(x[0]);
      unary(Unary::pow_scalar, x[0], into(y), {.a = a});
      binary(Binary::pow_scalar_grad, x[0], x[0], into(dx), {.a = a == 0.5 ? 2 : a});
      return {y, dx};
    });
}

// ---- integers ----

TEST_F(Elementwise, IntegersHaveTheFunctionsTheyHaveOnTheCpu) {
  for (const DType dtype : {int64, int32, uint8, DType::boolean})
    expect_as_on_cpu(
        {some({37}, dtype, 1), some({37}, dtype, 2), some({37}, dtype, 3)},
        [dtype](const Tensors& x) -> Tensors {
          Tensors results;
          const auto next = [&] {
            return into(results.emplace_back(empty({37}, dtype, x[0].device())));
          };
          for (const Unary f : {Unary::neg, Unary::abs, Unary::sign, Unary::relu, Unary::add_scalar,
                                Unary::rsub_scalar, Unary::mul_scalar, Unary::clamp,
                                Unary::logical_not, Unary::isnan})
            unary(f, x[0], next(), {.a = -1, .b = kInf});
          for (const Binary f :
               {Binary::add, Binary::sub, Binary::mul, Binary::maximum, Binary::minimum, Binary::eq,
                Binary::ne, Binary::lt, Binary::le, Binary::gt, Binary::ge, Binary::logical_and,
                Binary::logical_or, Binary::where_a, Binary::where_b})
            binary(f, x[0], x[1], next());
          ternary(Ternary::where, x[0], x[1], x[2], next());
          return results;
        });
}

TEST_F(Elementwise, IntegersWrapAround) {
  const int64_t top = std::numeric_limits<int64_t>::max(), bottom = -top - 1;
  const int64_t values[] = {top, bottom, 3, 1};
  const Tensor x = to_device(from_data(values, {4}), device);
  const auto result = [&](auto call) {
    const Tensor y = to_device(tensor({1, -1, 0, 0}, int64), device);
    call(y);
    return y.to_vector<int64_t>();
  };
  using Ints = std::vector<int64_t>;
  EXPECT_EQ(result([&](const Tensor& y) { binary(Binary::add, x, y, into(y)); }),
            (Ints{bottom, top, 3, 1}));
  EXPECT_EQ(result([&](const Tensor& y) { unary(Unary::identity, x, adding_to(y)); }),
            (Ints{bottom, top, 3, 1}));
  EXPECT_EQ(result([&](const Tensor& y) { unary(Unary::neg, x, into(y)); }),
            (Ints{-top, bottom, -3, -1}));
  EXPECT_EQ(result([&](const Tensor& y) { unary(Unary::abs, x, into(y)); }),
            (Ints{top, bottom, 3, 1}));
  EXPECT_EQ(result([&](const Tensor& y) { unary(Unary::mul_scalar, x, into(y), {.a = 2}); }),
            (Ints{-2, 0, 6, 2}));
  EXPECT_EQ(result([&](const Tensor& y) { binary(Binary::sub, y, x, into(y)); }),
            (Ints{1 - top, top, -3, -1}));
  const Tensor sum = to_device(tensor({5}, int64), device);
  unary(Unary::identity, x, adding_to(sum));
  EXPECT_EQ(sum.to_vector<int64_t>(), (Ints{8}));
  binary(Binary::mul, x, x, into(sum));
  EXPECT_EQ(sum.to_vector<int64_t>(), (Ints{11}));
}

TEST_F(Elementwise, AFunctionThatIntegersLackNamesTheCure) {
  const Tensor x = empty({3}, int64, device);
  try {
    unary(Unary::exp, x, into(x));
    FAIL() << "exp took integers";
  } catch (const DTypeError& e) {
    EXPECT_STREQ(e.what(), "exp: int64 is not a floating point type; cast it first");
  }
  EXPECT_THROW(binary(Binary::add, x, empty({4}, int64, device), into(x)), ShapeError);
}

// ---- dtypes ----

TEST_F(Elementwise, EveryDtypeBecomesEveryOther) {
  for (const DType from : kAll) {
    SCOPED_TRACE(name_of(from));
    Tensors inputs = {some({3, 5}, from)};
    for (const DType to : kAll) inputs.push_back(some({3, 5}, to, 2));
    expect_as_on_cpu(inputs, [](const Tensors& x) -> Tensors {
      Tensors results;
      for (size_t i = 1; i < x.size(); ++i) {
        const DType to = x[i].dtype();
        const Tensor y = empty({3, 5}, to, x[0].device()), z = apart({3, 5}, to, x[0].device());
        copy(x[0], into(y));
        copy(x[0], into(z));
        copy(x[i], into(y));
        copy(x[0], adding_to(y));
        binary(Binary::add, x[i], x[0], into(z));
        results.insert(results.end(), {y, together(z)});
      }
      return results;
    });
  }
}

TEST_F(Elementwise, FloatsThatIntegersDoNotHoldBecomeTheirNearest) {
  const Tensor x = to_device(tensor({kNan, kInf, -kInf, 1e30, -1, 256, 2.9, -2.9}), device);
  const Tensor wide = empty({8}, int64, device), small = empty({8}, uint8, device);
  copy(x, into(wide));
  copy(x, into(small));
  const int64_t top = std::numeric_limits<int64_t>::max(), bottom = -top - 1;
  EXPECT_EQ(wide.to_vector<int64_t>(), (std::vector<int64_t>{0, top, bottom, top, -1, 256, 2, -2}));
  EXPECT_EQ(small.to_vector<double>(), (Values{0, 255, 0, 255, 255, 0, 2, 254}));
}

// ---- layouts ----

TEST_F(Elementwise, RowsOfEveryLengthAndAddress) {
  for (const DType dtype : {float32, DType::bfloat16, DType::float16})
    for (const int64_t n : {0, 1, 3, 4, 5, 33, 1000, 1027})
      expect_as_on_cpu(
          {some({n + 5}, dtype), some({n + 5}, dtype, 2)}, [n](const Tensors& x) -> Tensors {
            const Tensor a = narrow(x[0], 0, 0, n), b = narrow(x[1], 0, 4, n),
                         c = narrow(x[1], 0, 1, n);
            const Tensor y = empty({n}, a.dtype(), a.device()), z = empty({n}, float32, a.device()),
                         w = empty({n + 5}, a.dtype(), a.device());
            binary(Binary::sub, a, b, into(y));  // all addresses are aligned
            binary(Binary::mul, a, c, into(z));  // one is not
            unary(Unary::neg, narrow(w, 0, 0, 0), into(narrow(w, 0, 0, 0)));
            copy(x[0], into(w));
            unary(Unary::relu, a, into(narrow(w, 0, 3, n)));
            binary(Binary::add, a, b, adding_to(y));
            binary(Binary::sub, a, c, adding_to(z));
            return {y, z, w};
          });
}

TEST_F(Elementwise, BroadcastingReachesTheRightElements) {
  const struct {
    Dims a, b, y;
  } cases[] = {{{3, 4}, {4}, {3, 4}},
               {{3, 1}, {1, 4}, {3, 4}},
               {{3, 1}, {1, 5}, {3, 5}},
               {{}, {5}, {5}},
               {{}, {}, {}},
               {{1}, {1}, {1, 1, 1}},
               {{2, 1, 3, 1}, {4, 1, 5}, {2, 4, 3, 5}},
               {{2, 3, 4, 8}, {3, 1, 1}, {2, 3, 4, 8}},
               {{70, 3}, {3}, {70, 3}},
               {{5, 132}, {132}, {5, 132}},
               {{4, 50}, {4, 1}, {4, 50}},
               {{8}, {8}, {6, 8}}};
  for (const auto& c : cases)
    for (const DType dtype : {float32, DType::bfloat16, float64, int32})
      expect_as_on_cpu(
          {some(c.a, dtype, 1), some(c.b, dtype, 2)}, [&](const Tensors& x) -> Tensors {
            const Tensor y = empty(c.y, dtype, x[0].device()), z = apart(c.y, dtype, x[0].device());
            binary(Binary::sub, x[0], x[1], into(y));
            binary(Binary::sub, x[0], x[1], into(z));
            binary(Binary::mul, x[1], x[0], adding_to(y));
            binary(Binary::mul, x[1], x[0], adding_to(z));
            return {y, together(z)};
          });
}

TEST_F(Elementwise, StridesOfEveryKind) {
  for (const DType dtype : {float32, DType::float16, float64, int64})
    expect_as_on_cpu(
        {some({12, 16}, dtype), some({12, 20}, dtype, 2), some({12, 21}, dtype, 3),
         some({3, 4, 5}, dtype, 4)},
        [dtype](const Tensors& x) -> Tensors {
          Tensors results;
          const auto next = [&](const Dims& shape) {
            return into(results.emplace_back(empty(shape, dtype, x[0].device())));
          };
          const Tensor a = narrow(x[1], 1, 4, 16);  // rows are aligned
          const Tensor b = narrow(x[2], 1, 4, 16);  // only the first is
          binary(Binary::sub, x[0], a, next({12, 16}));
          binary(Binary::sub, x[0], b, next({12, 16}));
          ternary(Ternary::where, a, b, x[0], next({12, 16}));
          binary(Binary::sub, narrow(transpose(x[0], 0, 1), 0, 0, 12), narrow(a, 1, 2, 12),
                 next({12, 12}));
          unary(Unary::neg, permute(x[3], {2, 0, 1}), next({5, 3, 4}));
          unary(Unary::neg, slice(x[3], 2, 0, 5, 2), next({3, 4, 3}));
          copy(x[0], next({12, 16}));
          copy(transpose(x[0], 0, 1), into(transpose(results.back(), 0, 1)));
          copy(a,
               into(transpose(results.emplace_back(empty({16, 12}, dtype, x[0].device())), 0, 1)));
          return results;
        });
}

TEST_F(Elementwise, InPlaceIsAllowed) {
  expect_as_on_cpu({some({1003})}, [](const Tensors& x) -> Tensors {
    const Tensor y = empty_like(x[0]);
    copy(x[0], into(y));
    binary(Binary::mul, y, y, into(y));
    copy(y, into(y));
    return {y};
  });
}

TEST_F(Elementwise, MoreElementsThanThreads) {
  const int64_t n = 4 * 1024 * 256 + 7;
  const Tensor x = to_device(arange(n, float32), device), y = empty({n}, float32, device);
  unary(Unary::neg, x, into(y));
  const std::vector<float> got = y.to_vector<float>();
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<size_t>(i)], -static_cast<float>(i));
  const int64_t few = 1024 * 256 + 7;
  const Tensor wide = empty({few}, float64, device), full = empty({few}, int64, device);
  copy(narrow(x, 0, 0, few), into(wide));
  fill(7, into(full));
  EXPECT_EQ(wide.to_vector<double>().back(), few - 1);
  EXPECT_EQ(full.to_vector<double>(), Values(static_cast<size_t>(few), 7));
}

// ---- fill ----

TEST_F(Elementwise, FillReachesEveryElementAndNoOther) {
  for (const DType dtype : kAll)
    for (const double value : {0.0, 3.7, -300.0, 1e30})
      expect_as_on_cpu({some({6, 10}, dtype), some({33}, dtype)}, [=](const Tensors& x) -> Tensors {
        const Tensor y = empty({33}, dtype, x[0].device()),
                     z = empty({6, 10}, dtype, x[0].device()),
                     u = empty({6, 10}, dtype, x[0].device());
        fill(value, into(y));
        fill(value, adding_to(y));
        fill(value, into(narrow(y, 0, 0, 0)));
        copy(x[0], into(z));
        fill(value, into(slice(z, 1, 1, 10, 3)));
        copy(x[0], into(u));
        fill(value, adding_to(slice(u, 0, 1, 6, 2)));
        fill(value, adding_to(u));
        return {y, z, u};
      });
}

TEST_F(Elementwise, FillKeepsTheSignOfZero) {
  const Tensor x = empty({5}, float32, device);
  fill(-0.0, into(x));
  for (const float v : x.to_vector<float>()) EXPECT_TRUE(std::signbit(v));
  fill(0.0, into(x));
  for (const float v : x.to_vector<float>()) EXPECT_FALSE(std::signbit(v));
}

}  // namespace
}  // namespace accrue::testing
