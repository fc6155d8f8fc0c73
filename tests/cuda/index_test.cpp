// Gather, scatter_add and the check of indices on device cuda: the bits of the CPU, in every order
// of blocks and threads, and laws that say what those are.
#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/layout.h>

#include <accrue/kernels/cuda/divisor.cuh>
#include <accrue/kernels/index.h>

namespace accrue::testing {
namespace {

using ::testing::ElementsAre;
using Index = OnExecutor;
using kernels::kSkipNone;

constexpr DType kAll[] = {float32, float64, DType::bfloat16, DType::float16,
                          int64,   int32,   uint8,           DType::boolean};

// Numbers of either sign and many sizes, so that no two orders of a sum agree; in [0, 97) if there
// are to be indices.
Tensor numbers(const Dims& shape, DType dtype, int64_t seed = 1) {
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  auto state = static_cast<uint64_t>(seed);
  for (double& x : v) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto bits = static_cast<double>(state >> 40);
    x = is_floating(dtype) ? std::ldexp(bits - 0x1p23, static_cast<int>(state >> 37 & 7) - 22)
                           : std::fmod(bits, dtype == DType::boolean ? 2 : 97);
  }
  return tensor(v, shape, dtype);
}
// Indices in [0, bound), many of them equal.
Tensor indices(const Dims& shape, int64_t bound, DType dtype = int64) {
  std::vector<double> v = numbers(shape, int64, 5).to_vector<double>();
  for (double& x : v) x = std::fmod(x * (x < 20 ? 1 : 7), static_cast<double>(bound));
  return tensor(v, shape, dtype);
}
// One index for all elements at its place along `dim`.
ConstView spread(const Tensor& index, const Dims& shape, int dim) {
  ConstView all = index;
  all.shape = shape;
  all.strides = Dims::filled(shape.size(), 0);
  all.strides[dim] = index.view().strides[0];
  return all;
}
// A fresh copy on the device of `like`, for a kernel to add to.
Tensor start(const Dims& shape, DType dtype, const Tensor& like) {
  return to_device(numbers(shape, dtype, 9), like.device());
}
Tensor transposed(const Tensor& x) { return x.alias(layout::transpose(x.layout(), 0, 1)); }

TEST_F(Index, GatherIsThatOfTheCpuForEveryDtype) {
  for (DType t : kAll)
    expect_as_on_cpu({numbers({5, 7, 6}, t), indices({3, 7, 2}, 5), indices({2, 33}, 6, int32),
                      indices({4, 9, 5}, 7)},
                     [t](const std::vector<Tensor>& in) -> std::vector<Tensor> {
                       const Tensor y = empty({3, 7, 2}, t, in[0].device());
                       kernels::gather(in[0], 0, in[1], into(y));
                       kernels::gather(in[0], 0, in[1], adding_to(y));
                       const Tensor z = start({4, 9, 5}, t, in[0]);
                       kernels::gather(in[0], 1, in[3], adding_to(z));
                       const Tensor u = empty({5, 7, 33}, t, in[0].device());
                       const Tensor last =
                           in[2].alias({.shape = {33}, .strides = {1}, .offset = 33});
                       kernels::gather(in[0], 2, spread(last, u.shape(), 2), into(u));
                       return {y, z, u};
                     });
}

// Rows of whole units of 16 bytes, and all the ways in which they are not.
TEST_F(Index, RowsAreMovedWhateverTheirLengthStridesAndAddress) {
  for (DType t : {float32, DType::bfloat16, uint8, float64})
    for (int64_t width : {1, 2, 3, 4, 7, 8, 16, 20, 48})
      expect_as_on_cpu(
          {numbers({11, 64}, t), indices({37}, 11)},
          [=](const std::vector<Tensor>& in) -> std::vector<Tensor> {
            const Device there = in[0].device();
            const Tensor one = empty({37, width}, t, there), two = empty({37, width}, t, there),
                         three = empty({37, width}, t, there), four = empty({5, 37}, t, there),
                         rows = numbers({37, 51}, t, 3);
            const ConstView at = spread(in[1], {37, width}, 0);
            const Layout all = in[0].layout();
            kernels::gather(in[0].alias(layout::narrow(all, 1, 0, width)), 0, at, into(one));
            kernels::gather(in[0].alias(layout::narrow(all, 1, 3, width)), 0, at, into(two));
            const Layout part{.shape = {11, width}, .strides = {width + 1, 1}};
            kernels::gather(in[0].alias(part), 0, at, into(three));
            const Tensor x = transposed(in[0].alias(layout::narrow(all, 1, 0, 5)));
            kernels::gather(x, 1, spread(in[1], {5, 37}, 1), into(four));
            const Tensor apart = to_device(rows, there);
            kernels::gather(in[0].alias(part), 0, at,
                            into(apart.alias(layout::narrow(apart.layout(), 1, 2, width))));
            return {one, two, three, four, apart};
          });
}

// Rows of whole units whose elements, or which themselves, do not lie in such.
TEST_F(Index, RowsThatLieApartAreMovedElementByElement) {
  expect_as_on_cpu(
      {numbers({11, 64}, float32), indices({37}, 11)},
      [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        const Device there = in[0].device();
        const ConstView at = spread(in[1], {37, 8}, 0);
        const Tensor x = in[0].alias(layout::narrow(in[0].layout(), 1, 0, 8));
        const Tensor skips = in[0].alias(layout::slice(in[0].layout(), 1, 0, 16, 2));
        const Tensor dense = empty({37, 8}, float32, there);
        const Tensor odd = start({37, 51}, float32, in[0]), even = start({37, 16}, float32, in[0]);
        kernels::gather(skips, 0, at, into(dense));
        kernels::gather(x, 0, at, into(odd.alias(layout::narrow(odd.layout(), 1, 0, 8))));
        kernels::gather(x, 0, at, into(even.alias(layout::slice(even.layout(), 1, 0, 16, 2))));
        return {dense, odd, even};
      });
}

// The rows lie in units of 16 bytes, but what they are picked by does not.
TEST_F(Index, AnOddDistanceBetweenTheRowsThatAnIndexNamesIsNotCutToUnits) {
  expect_as_on_cpu({numbers({100}, float32), indices({9}, 8)},
                   [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
                     const Tensor y = empty({2, 9, 8}, float32, in[0].device());
                     const Layout x{.shape = {2, 8, 8}, .strides = {8, 6, 1}};
                     kernels::gather(in[0].alias(x), 1, spread(in[1], y.shape(), 1), into(y));
                     const Layout outer{.shape = {2, 8, 8}, .strides = {6, 8, 1}};
                     const Tensor z = empty({2, 9, 8}, float32, in[0].device());
                     kernels::gather(in[0].alias(outer), 1, spread(in[1], z.shape(), 1), into(z));
                     return {y, z};
                   });
}

TEST_F(Index, GatherWidensSixteenBitsAndRefusesOtherPairs) {
  for (DType t : {DType::bfloat16, DType::float16})
    expect_as_on_cpu({numbers({6, 8}, t), indices({33}, 6)},
                     [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
                       const Tensor y = empty({33, 8}, float32, in[0].device());
                       kernels::gather(in[0], 0, spread(in[1], {33, 8}, 0), into(y));
                       return {y};
                     });
  const Tensor y = empty({1}, float32, device);
  const Tensor at = to_device(indices({1}, 1), device);
  EXPECT_THROW(kernels::gather(to_device(zeros({1}, float64), device), 0, at, into(y)), DTypeError);
  try {
    kernels::scatter_add(to_device(zeros({1}, float64), device), 0, at, kSkipNone, adding_to(y));
    FAIL() << "float64 does not fit";
  } catch (const DTypeError& e) {
    EXPECT_STREQ(e.what(), "scatter_add: from float64 to float32; the dtypes must be equal");
  }
}

// One index for a row: lists short and long, of one tile of the sort, of two and three, and of one
// key more.
TEST_F(Index, RowsAddUpInTheOrderOfTheIndex) {
  for (int64_t length : {1, 64, 65, 1000, 1024, 1025, 2500})
    for (int64_t width : {1, 5})
      for (int64_t rows : {1, 7, 90})
        expect_as_on_cpu({numbers({length, width}, float32), indices({length}, rows)},
                         [=](const std::vector<Tensor>& in) -> std::vector<Tensor> {
                           const ConstView at = spread(in[1], {length, width}, 0);
                           const Tensor y = start({rows, width}, float32, in[0]);
                           kernels::scatter_add(in[0], 0, at, kSkipNone, adding_to(y));
                           const Tensor z = start({rows, width}, float32, in[0]);
                           kernels::scatter_add(in[0], 0, at, rows - 1, adding_to(z));
                           return {y, z};
                         });
}

TEST_F(Index, ScatterAddIsThatOfTheCpuForEveryDtype) {
  for (DType t : kAll)
    for (int64_t length : {9, 200})
      expect_as_on_cpu(
          {numbers({3, length, 2}, t), indices({length}, 8, int32), indices({3, length, 2}, 8)},
          [=](const std::vector<Tensor>& in) -> std::vector<Tensor> {
            const Tensor rows = start({3, 8, 2}, t, in[0]), elements = start({3, 8, 2}, t, in[0]);
            kernels::scatter_add(in[0], 1, spread(in[1], in[0].shape(), 1), 3, adding_to(rows));
            kernels::scatter_add(in[0], 1, in[2], 3, adding_to(elements));
            return {rows, elements};
          });
  for (DType t : {DType::bfloat16, DType::float16})
    for (int64_t length : {9, 200})
      expect_as_on_cpu(
          {numbers({length, 3}, t), indices({length}, 4)},
          [=](const std::vector<Tensor>& in) -> std::vector<Tensor> {
            const Tensor y = start({4, 3}, float32, in[0]);
            kernels::scatter_add(in[0], 0, spread(in[1], {length, 3}, 0), kSkipNone, adding_to(y));
            return {y};
          });
}

TEST_F(Index, AnyOperandMayHaveStrides) {
  for (int64_t length : {20, 100})
    expect_as_on_cpu(
        {numbers({6, 2 * length}, float32), indices({2 * length}, 5), indices({6, length}, 5)},
        [=](const std::vector<Tensor>& in) -> std::vector<Tensor> {
          const Tensor src =
              transposed(in[0].alias(layout::slice(in[0].layout(), 1, 0, 2 * length, 2)));
          const Tensor at = in[1].alias(layout::slice(in[1].layout(), 0, 0, 2 * length, 2));
          const Tensor y = start({7, 5}, float32, in[0]);
          const Tensor part = transposed(y.alias(layout::narrow(y.layout(), 0, 1, 6)));
          kernels::scatter_add(src, 0, spread(at, {length, 6}, 0), 2, adding_to(part));
          const Tensor z = start({7, 5}, float32, in[0]);
          const Tensor other = transposed(z.alias(layout::narrow(z.layout(), 0, 0, 6)));
          kernels::scatter_add(src, 0, transposed(in[2]), 2, adding_to(other));
          const Tensor picked = empty({length, 6}, float32, in[0].device());
          kernels::gather(other, 0, transposed(in[2]), into(picked));
          return {y, z, picked};
        });
}

// The first term of the whole list belongs to row 1, and is the first behind those of row 0.
TEST_F(Index, ARowEndsWhereTheNextBegins) {
  std::vector<double> at(100);
  for (size_t j = 0; j < at.size(); ++j) at[j] = static_cast<double>((j + 1) % 3);
  under_every_schedule([&] {
    const Tensor y = to_device(tensor({1000, 2000, 3000}), device);
    kernels::scatter_add(to_device(ones({100}), device), 0,
                         to_device(tensor(at, {100}, int64), device), kSkipNone, adding_to(y));
    EXPECT_THAT(y.to_vector<float>(), ElementsAre(1033, 2034, 3033));
  });
}

// (1 + 2⁻²⁴) + 2⁻²⁴ stays 1 in float, 1 + (2⁻²⁴ + 2⁻²⁴) would not: the order shows.
TEST_F(Index, TermsOfOneElementStartFromItsOldContent) {
  under_every_schedule([&] {
    for (int64_t length : {2, 300}) {
      std::vector<double> terms(static_cast<size_t>(length), 0x1p-24);
      const Tensor at = to_device(zeros({length}, int64), device);
      const Tensor one = to_device(ones({1}), device), none = to_device(zeros({1}), device);
      const Tensor src = to_device(tensor(terms, {length}), device);
      kernels::scatter_add(src, 0, at, kSkipNone, adding_to(one));
      EXPECT_EQ(one.item(), 1);
      kernels::scatter_add(src, 0, at, kSkipNone, adding_to(none));
      EXPECT_EQ(none.item(), static_cast<double>(length) * 0x1p-24);
    }
  });
}

// The split law of an embedding's gradient.
TEST_F(Index, TwoHalvesAddUpToTheWholeBitForBit) {
  const Tensor src = to_device(numbers({700, 3}, float32), device);
  const Tensor at = to_device(indices({700}, 20), device);
  const auto piece = [](const Tensor& x, int64_t begin, int64_t n) {
    return x.alias(layout::narrow(x.layout(), 0, begin, n));
  };
  under_every_schedule([&] {
    const Tensor whole = start({20, 3}, float32, src), halves = start({20, 3}, float32, src);
    kernels::scatter_add(src, 0, spread(at, {700, 3}, 0), kSkipNone, adding_to(whole));
    for (const auto& [begin, n] : {std::pair(0, 333), std::pair(333, 30), std::pair(363, 337)})
      kernels::scatter_add(piece(src, begin, n), 0, spread(piece(at, begin, n), {n, 3}, 0),
                           kSkipNone, adding_to(halves));
    EXPECT_EQ(halves.to_vector<float>(), whole.to_vector<float>());
  });
}

TEST_F(Index, AnEmptyIndexChangesNothing) {
  for (const Dims& shape : {Dims{0, 4}, Dims{100, 0}}) {
    const Tensor x = to_device(numbers({100, 4}, float32), device);
    const Tensor y = start({100, 4}, float32, x);
    const std::vector<float> before = y.to_vector<float>();
    const Tensor at = empty({shape[0]}, int64, device);
    const uint64_t launches = simt::counts().launches;
    kernels::scatter_add(x, 0, spread(at, shape, 0), kSkipNone, adding_to(y));
    kernels::gather(x, 0, spread(at, shape, 0), into(empty(shape, float32, device)));
    kernels::check_index("op", empty({0}, int64, device), 0);
    EXPECT_EQ(simt::counts().launches, launches);
    EXPECT_EQ(y.to_vector<float>(), before);
  }
}

std::string complaint(const Tensor& index, int64_t bound) {
  try {
    kernels::check_index("op", index, bound);
  } catch (const IndexError& e) {
    return e.what();
  }
  return "";
}

TEST_F(Index, CheckNamesTheFirstBadOne) {
  under_every_schedule([&] {
    for (DType t : {int64, int32}) {
      const Tensor at = to_device(tensor({0, 1, 2, 3, 7, -1}, {2, 3}, t), device);
      EXPECT_EQ(complaint(at, 8), "op: index -1 at position [1, 2]; it must be in [0, 8)");
      EXPECT_EQ(complaint(at, 7), "op: index 7 at position [1, 1]; it must be in [0, 7)");
      EXPECT_EQ(complaint(at, 3), "op: index 3 at position [1, 0]; it must be in [0, 3)");
      EXPECT_EQ(complaint(at, 0), "op: index 0 at position [0, 0]; it must be in [0, 0)");
      const Tensor part = transposed(at.alias(layout::narrow(at.layout(), 1, 0, 2)));
      EXPECT_EQ(complaint(part, 8), "");
      EXPECT_EQ(complaint(part, 7), "op: index 7 at position [1, 1]; it must be in [0, 7)");
      EXPECT_EQ(complaint(part, 3), "op: index 3 at position [0, 1]; it must be in [0, 3)");
    }
    std::vector<double> many(3000, 4);
    EXPECT_EQ(complaint(to_device(tensor(many, {3000}, int64), device), 5), "");
    many[700] = many[300] = many[2999] = 5;
    EXPECT_EQ(complaint(to_device(tensor(many, {3000}, int64), device), 5),
              "op: index 5 at position [300]; it must be in [0, 5)");
    many[300] = many[700] = 4;
    EXPECT_EQ(complaint(to_device(tensor(many, {30, 100}, int64), device), 5),
              "op: index 5 at position [29, 99]; it must be in [0, 5)");
  });
  try {
    kernels::check_index("op", to_device(tensor({1.}), device), 8);
    FAIL() << "float32 is no index";
  } catch (const DTypeError& e) {
    EXPECT_STREQ(e.what(), "op: the index is float32; it must be int64 or int32");
  }
}

// Also beyond 2^31, where no tensor of a test has elements.
TEST_F(Index, ADivisorDividesWhateverIsNotNegative) {
  constexpr long kLarge = 1L << 31;
  for (long d : {1L, 2L, 3L, 7L, 64L, 641L, 65537L, kLarge - 1, kLarge, 3 * kLarge + 1}) {
    const kernels::cuda::Divisor by(d);
    for (long near : {0L, d, 2 * d, 1000 * d, kLarge, 5 * kLarge, 1L << 40})
      for (long n = std::max(0L, near - 2); n <= near + 2; ++n)
        ASSERT_EQ(by(n), n / d) << n << " / " << d;
  }
}

}  // namespace
}  // namespace accrue::testing
