// The kernels alone; what users call is tested in tests/autograd/index_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <accrue/core/factories.h>

#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/index.h>

namespace accrue {
namespace {

using ::testing::ElementsAre;

std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

TEST(IndexKernels, GatherOverwritesOrAddsAsItsDestSays) {
  const Tensor x = tensor({10, 20, 30});
  const Tensor at = tensor({2, 0, 2}, int64);
  const Tensor y = full({3}, 1);
  kernels::gather(x, 0, at, adding_to(y));
  EXPECT_THAT(values(y), ElementsAre(31, 11, 31));
  kernels::gather(x, 0, at, into(y));
  EXPECT_THAT(values(y), ElementsAre(30, 10, 30));
}

TEST(IndexKernels, ScatterAddSkipsOneIndexAndStartsFromTheOldContent) {
  const Tensor src = tensor({1, 2, 4, 8});
  const Tensor y = full({3}, 100);
  kernels::scatter_add(src, 0, tensor({2, 0, 2, 1}, int32), 1, adding_to(y));
  EXPECT_THAT(values(y), ElementsAre(102, 100, 105));
  kernels::scatter_add(src, 0, tensor({2, 0, 2, 1}, int64), kernels::kSkipNone, adding_to(y));
  EXPECT_THAT(values(y), ElementsAre(104, 108, 110));
}

// (1 + 2⁻²⁴) + 2⁻²⁴ stays 1 in float, 1 + (2⁻²⁴ + 2⁻²⁴) would not: the order shows.
TEST(IndexKernels, TermsOfOneElementAreAddedOneByOneInTheOrderOfTheIndex) {
  const double tiny = 1.0 / (1 << 24);
  const Tensor zero = tensor({0, 0, 0}, int64);
  const Tensor first = zeros({1}), last = zeros({1});
  kernels::scatter_add(tensor({1, tiny, tiny}), 0, zero, kernels::kSkipNone, adding_to(first));
  kernels::scatter_add(tensor({tiny, tiny, 1}), 0, zero, kernels::kSkipNone, adding_to(last));
  EXPECT_EQ(first.item(), 1);
  EXPECT_EQ(last.item(), 1 + 2 * tiny);
}

TEST(IndexKernels, ADestinationMayHaveAnyStrides) {
  const Tensor memory = zeros({3, 4});
  const Tensor y =
      memory.alias(layout::slice(layout::transpose(memory.layout(), 0, 1), 0, 0, 4, 2));
  const Tensor src = tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  const Tensor rows = tensor({1, 0, 1}, int64);
  ConstView at = rows;
  at.shape = {3, 3};
  at.strides = {1, 0};
  kernels::scatter_add(src, 0, at, kernels::kSkipNone, adding_to(y));
  EXPECT_THAT(values(y), ElementsAre(4, 5, 6, 8, 10, 12));
  EXPECT_THAT(values(memory), ElementsAre(4, 0, 8, 0, 5, 0, 10, 0, 6, 0, 12, 0));
}

TEST(IndexKernels, SixteenBitNumbersAreAddedToFloat32) {
  const Tensor y = zeros({1});
  const Tensor ones16 = ones({300}, DType::bfloat16);
  kernels::scatter_add(ones16, 0, zeros({300}, int64), kernels::kSkipNone, adding_to(y));
  EXPECT_EQ(y.item(), 300);
  EXPECT_THROW(kernels::gather(zeros({1}, DType::float64), 0, zeros({1}, int64), into(y)),
               DTypeError);
}

TEST(IndexKernels, CheckIndexNamesTheFirstBadOne) {
  const Tensor at = tensor({{0, 1, 2}, {3, 7, -1}}, int64);
  const Tensor part = at.alias(layout::narrow(at.layout(), 1, 0, 2));
  EXPECT_NO_THROW(kernels::check_index("op", part, 8));
  try {
    kernels::check_index("op", at, 3);
    FAIL() << "3, 7 and -1 are outside";
  } catch (const IndexError& e) {
    EXPECT_STREQ(e.what(), "op: index 3 at position [1, 0]; it must be in [0, 3)");
  }
  EXPECT_THROW(kernels::check_index("op", tensor({1.}), 8), DTypeError);
}

}  // namespace
}  // namespace accrue
