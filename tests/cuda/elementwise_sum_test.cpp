// Elementwise kernels whose result lacks dimensions, over which they sum, on device cuda: the CPU's
// bits, and sums that do not show how a batch was cut.
#include "tests/cuda/elementwise.h"

namespace accrue::testing {
namespace {

using ElementwiseSum = Elementwise;

const struct {
  Dims x, y;
} kSums[] = {{{24, 37}, {37}},
             {{24, 7}, {7}},
             {{24, 1}, {1}},
             {{24, 37}, {}},
             {{24, 37}, {1, 1}},
             {{24, 37}, {24, 1}},
             {{77}, {}},
             {{24, 5, 6}, {6}},
             {{24, 5, 6}, {5, 6}},
             {{24, 5, 20}, {5, 1}},
             {{24, 5, 6}, {1, 5, 1}},
             {{3, 24, 5}, {3, 1, 5}},
             {{24, 5, 6}, {}},
             {{24, 3, 5, 6}, {3, 1, 6}},
             {{6, 3, 5, 6}, {1, 3, 1, 1}},
             {{6, 3, 5, 40}, {3, 1, 1}},
             {{24, 1, 60}, {1, 1, 1}},
             {{150, 3}, {3}},
             {{3, 1100}, {3, 1}}};

TEST_F(ElementwiseSum, SumsOntoOldContentAreThoseOfTheCpuBitForBit) {
  set_split_invariant(true);
  for (const DType dtype : {float32, float64, DType::bfloat16, int32})
    for (const auto& c : kSums) {
      if (dtype != float32 && &c - kSums > 6) continue;
      std::ostringstream trace;
      trace << dtype << c.x << " to " << c.y;
      SCOPED_TRACE(trace.str());
      expect_as_on_cpu({uneven(c.x, dtype, 1), uneven(c.x, dtype, 2), uneven(c.y, dtype, 3)},
                       [&](const Tensors& x) -> Tensors {
                         const Tensor y = empty(c.y, dtype, x[0].device()),
                                      z = apart(c.y, dtype, x[0].device()),
                                      w = empty(c.y, float32, x[0].device());
                         copy(x[0], into(y));
                         copy(x[1], adding_to(y));
                         copy(x[2], into(z));
                         binary(Binary::mul, x[0], x[1], adding_to(z));
                         binary(Binary::where_a, x[0], x[1], into(w));
                         binary(Binary::sub, x[1], x[0], adding_to(w));
                         return {y, together(z), w};
                       });
    }
}

TEST_F(ElementwiseSum, SumsOverOperandsOfAnyLayout) {
  set_split_invariant(true);
  for (const DType dtype : {float32, DType::float16})
    expect_as_on_cpu(
        {uneven({40, 24}, dtype), uneven({24, 1}, dtype, 2), uneven({6, 8, 10}, dtype, 3)},
        [](const Tensors& x) -> Tensors {
          Tensors results;
          const auto next = [&](const Dims& shape) {
            return into(results.emplace_back(empty(shape, float32, x[0].device())));
          };
          const Tensor a = transpose(x[0], 0, 1);
          copy(a, next({40}));
          copy(a, next({24, 1}));
          copy(a, next({}));
          binary(Binary::mul, a, x[1], next({40}));
          binary(Binary::mul, x[1], a, next({24, 1}));
          ternary(Ternary::where, a, x[1], a, next({1, 40}));
          copy(permute(x[2], {1, 2, 0}), next({10, 1}));
          copy(permute(x[2], {2, 0, 1}), next({1, 6, 1}));
          copy(slice(x[2], 1, 0, 8, 3), next({10}));
          return results;
        });
}

TEST_F(ElementwiseSum, NothingSummedIsZero) {
  for (const DType dtype : {float32, float64, int64, DType::bfloat16}) {
    const Tensor x = empty({0, 3}, dtype, device), w = empty({2, 0, 3}, dtype, device);
    const Tensor y = to_device(tensor({7, 7, 7}, dtype), device);
    copy(x, adding_to(y));
    EXPECT_EQ(y.to_vector<double>(), (Values{7, 7, 7}));
    copy(x, into(y));
    EXPECT_EQ(y.to_vector<double>(), (Values{0, 0, 0}));
    const Tensor z = empty({1, 1}, dtype, device), two = empty({2, 1, 1}, dtype, device);
    for (const auto f : {Binary::mul, Binary::sub}) {
      binary(f, x, x, into(z));
      EXPECT_EQ(z.to_vector<double>(), (Values{0}));
      binary(f, w, w, into(two));
      EXPECT_EQ(two.to_vector<double>(), (Values{0, 0}));
      fill(9, into(two));
      binary(f, w, w, adding_to(two));
      EXPECT_EQ(two.to_vector<double>(), (Values{9, 9}));
    }
    copy(empty({3, 0}, dtype, device), into(empty({3, 0}, dtype, device)));
  }
}

// -0 + -0 = -0, and nothing else is added.
TEST_F(ElementwiseSum, SumsOfNegativeZerosAreNegativeZeros) {
  for (const Dims& to : {Dims{3, 1}, Dims{5}, Dims{}}) {
    const Tensor x = empty({3, 5}, float32, device), y = empty(to, float32, device);
    fill(-0.0, into(x));
    fill(-0.0, into(y));
    unary(Unary::identity, x, adding_to(y));
    const bool inner = to.empty();  // sums over inner dimensions start from 0
    for (const float v : y.to_vector<float>()) EXPECT_EQ(std::signbit(v), !inner) << to;
  }
}

// The gradient of a bias, as a batch of rows or in slices of it.
TEST_F(ElementwiseSum, SlicesOfABatchEqualTheWholeBitForBit) {
  set_split_invariant(true);
  for (const auto& [from, to] :
       {std::pair(Dims{300, 13}, Dims{13}), std::pair(Dims{300, 2}, Dims{}),
        std::pair(Dims{150, 3, 20}, Dims{3, 1})}) {
    const Tensor x = to_device(uneven(from), device),
                 old = to_device(uneven(to, float32, 2), device);
    const Tensor whole = empty(to, float32, device);
    copy(old, into(whole));
    copy(x, adding_to(whole));
    for (const int64_t rows : {1, 64, 100}) {
      const Tensor parts = empty(to, float32, device);
      copy(old, into(parts));
      for (int64_t at = 0; at < from[0]; at += rows)
        copy(narrow(x, 0, at, std::min(rows, from[0] - at)), adding_to(parts));
      EXPECT_EQ(parts.to_vector<float>(), whole.to_vector<float>()) << from << rows;
    }
  }
}

// Whole numbers are added without rounding, in whatever pieces.
TEST_F(ElementwiseSum, LongSumsInPiecesMissNoTerm) {
  for (const Dims& shape : {Dims{127, 3}, Dims{128, 3}, Dims{200, 3}, Dims{333, 1}, Dims{1023},
                            Dims{1024}, Dims{1500}, Dims{2100, 2}, Dims{40, 4, 60}})
    for (const DType dtype : {float32, float64, int64}) {
      const Dims to = shape.size() == 1   ? Dims{1}
                      : shape.size() == 2 ? Dims{shape[1]}
                                          : Dims{1, 4, 1};
      Values values(static_cast<size_t>(numel(shape)));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i % 97);
      expect_as_on_cpu({tensor(values, shape, dtype), some(to, int64)},
                       [&](const Tensors& x) -> Tensors {
                         const Tensor y = empty(to, dtype, x[0].device());
                         copy(x[1], into(y));
                         copy(x[0], adding_to(y));
                         return {y};
                       });
    }
}

// Each thread, warp or half warp has more than one of them.
TEST_F(ElementwiseSum, MoreSumsThanThreads) {
  const struct {
    Dims x, y;
  } cases[] = {{{8200, 3}, {8200, 1}}, {{2, 262200}, {262200}}, {{2, 8200, 3}, {8200, 1}}};
  for (const auto& c : cases) {
    const Tensor x = uneven(c.x), right = empty(c.y), y = empty(c.y, float32, device);
    copy(x, into(right));
    copy(to_device(x, device), into(y));
    EXPECT_EQ(y.to_vector<float>(), right.to_vector<float>()) << c.x;
  }
}

}  // namespace
}  // namespace accrue::testing
