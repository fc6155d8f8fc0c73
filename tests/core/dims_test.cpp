#include <cstdint>

#include <gtest/gtest.h>

#include <accrue/core/dims.h>
#include <accrue/core/factories.h>

namespace accrue {
namespace {

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Dims, HoldsEightNumbersAndRefusesTheNinth) {
  Dims d = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(d.size(), 8);
  EXPECT_EQ(d.back(), 8);
  EXPECT_THROW(d.push_back(9), ShapeError);
  EXPECT_EQ(d, (Dims{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Dims, InsertAndEraseShiftTheRest) {
  Dims d = {2, 3};
  d.insert(0, 1);
  d.insert(3, 4);
  d.insert(2, 9);
  EXPECT_EQ(d, (Dims{1, 2, 9, 3, 4}));
  d.erase(2);
  d.erase(3);
  EXPECT_EQ(d, (Dims{1, 2, 3}));
  EXPECT_NE(d, (Dims{1, 2}));
}

TEST(Dims, PrintAsAList) { EXPECT_EQ(detail::concat(Dims{2, 3}, Dims{}), "[2, 3][]"); }

TEST(Dims, NumelOfNothingIsOneAndOfAZeroIsZero) {
  EXPECT_EQ(numel({}), 1);
  EXPECT_EQ(numel({2, 3, 4}), 24);
  EXPECT_EQ(numel({2, 0, 4}), 0);
}

TEST(Dims, CheckedNumelRefusesWhatDoesNotFit) {
  EXPECT_EQ(checked_numel("f", {2, 3}, 4), 6);
  EXPECT_EQ(checked_numel("f", {int64_t{1} << 62}), int64_t{1} << 62);
  EXPECT_THROW(checked_numel("f", {int64_t{1} << 60}, 8), ShapeError);
  EXPECT_EQ(checked_numel("f", {(int64_t{1} << 60) - 1}, 8), (int64_t{1} << 60) - 1);
  EXPECT_THROW(checked_numel("f", {int64_t{1} << 32, int64_t{1} << 32, 0}), ShapeError)
      << "a zero must not hide strides that wrap";
  EXPECT_EQ(checked_numel("f", {int64_t{1} << 31, 0, int64_t{1} << 31}), 0);
  EXPECT_EQ(message_of([] {
              checked_numel("zeros", {2, -1});
            }),
            "zeros: a size is negative: [2, -1]; sizes are 0 or more");
}

TEST(Dims, RowMajorRunsFastestAtTheEnd) {
  EXPECT_EQ(row_major({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(row_major({5}), (Dims{1}));
  EXPECT_EQ(row_major({}), (Dims{}));
  EXPECT_EQ(row_major({2, 0, 3}), (Dims{3, 3, 1}));
}

TEST(Dims, BroadcastFollowsNumPy) {
  EXPECT_EQ(broadcast("f", {2, 3}, {3}), (Dims{2, 3}));
  EXPECT_EQ(broadcast("f", {4, 1, 3}, {5, 1}), (Dims{4, 5, 3}));
  EXPECT_EQ(broadcast("f", {}, {2}), (Dims{2}));
  EXPECT_EQ(broadcast("f", {0}, {1}), (Dims{0}));
  EXPECT_EQ(broadcast("f", {1, 2}, {0, 2}), (Dims{0, 2}));
  EXPECT_EQ(message_of([] {
              broadcast("add", {2, 3}, {2, 4});
            }),
            "add: cannot broadcast [2, 3] with [2, 4]: dimension 1 is 3 on the left and 4 on the "
            "right; sizes must be equal or 1");
  EXPECT_THROW(broadcast("f", {0}, {2}), ShapeError);
}

TEST(Dims, NegativeDimensionsCountFromTheBack) {
  EXPECT_EQ(normalize_dim("f", -1, 3), 2);
  EXPECT_EQ(normalize_dim("f", -3, 3), 0);
  EXPECT_EQ(normalize_dim("f", 2, 3), 2);
  EXPECT_EQ(message_of([] { normalize_dim("sum", 3, 3); }),
            "sum: dimension 3 of a tensor with 3 dimensions; it must be in [-3, 3)");
  EXPECT_THROW(normalize_dim("f", -4, 3), ShapeError);
  EXPECT_THROW(normalize_dim("f", 0, 0), ShapeError);
}

// Counts beyond 64 bits are refused by name, and nothing is allocated.
TEST(Core, case_IO_01) {
  const int64_t blocks = memory_stats().total.count;
  constexpr int64_t big = int64_t{1} << 61;
  const std::string text = message_of([] { ones({2, 2, 1, big}); });
  EXPECT_NE(text.find("[2, 2, 1, 2305843009213693952]"), std::string::npos) << text;
  EXPECT_THROW(zeros({big, 8}), ShapeError);
  EXPECT_THROW(empty({big, 0, 8}), ShapeError);
  EXPECT_THROW(layout::expand(layout::contiguous({}), {int64_t{1} << 40, int64_t{1} << 40}),
               ShapeError);
  EXPECT_THROW(arange(0, 1e30, 1), ShapeError);
  EXPECT_THROW(arange(int64_t{1} << 61), ShapeError);
  EXPECT_THROW(linspace(0, 1, int64_t{1} << 61), ShapeError);
  EXPECT_THROW(eye(int64_t{1} << 32), ShapeError);
  EXPECT_EQ(memory_stats().total.count, blocks);
  EXPECT_THROW(ones({int64_t{1} << 50}), OutOfMemory);  // fits 63 bits, but no machine
}

// Indices beyond 2^31 are 64-bit all the way.
TEST(Core, case_IO_02) {
  const Tensor x = full({}, 7);
  const Tensor wide = x.alias(layout::expand(x.layout(), {50000, 50000}));
  EXPECT_EQ(wide.numel(), 2500000000);
  EXPECT_EQ(wide.at({49999, 49999}), 7);
  const Layout dense = layout::contiguous({50000, 50000});  // a layout needs no memory
  EXPECT_EQ(layout::select(layout::select(dense, 0, 49999), 0, 49999).offset, 2499999999);
  EXPECT_EQ(layout::transpose(dense, 0, 1).strides, (Dims{1, 50000}));
  EXPECT_EQ(layout::slice(dense, 0, 1, 50000, 49998).strides, (Dims{2499900000, 1}));
  const auto flat = layout::try_reshape(dense, {2500000000});
  ASSERT_TRUE(flat);
  EXPECT_EQ(layout::narrow(*flat, 0, 2499999999, 1).offset, 2499999999);
}

}  // namespace
}  // namespace accrue
