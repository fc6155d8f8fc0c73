#include <gtest/gtest.h>

#include <accrue/core/scalar.h>

namespace accrue {
namespace {

TEST(Scalar, RemembersWhetherItWasAnInteger) {
  EXPECT_TRUE(Scalar(3).is_integral());
  EXPECT_TRUE(Scalar(int64_t{3}).is_integral());
  EXPECT_TRUE(Scalar(true).is_integral());
  EXPECT_FALSE(Scalar(3.0).is_integral());
  EXPECT_FALSE(Scalar(3.0F).is_integral());
  EXPECT_EQ(Scalar(0.5F).value(), 0.5);
}

TEST(Scalar, RefusesAnIntegerThatItWouldChange) {
  const int64_t exact = int64_t{1} << 53;
  EXPECT_EQ(Scalar(exact).value(), 0x1p53);
  EXPECT_EQ(Scalar(std::numeric_limits<int64_t>::min()).value(), -0x1p63);
  EXPECT_THROW(Scalar(exact + 1), ValueError);
  EXPECT_THROW(Scalar(-exact - 1), ValueError);
  EXPECT_THROW(Scalar{std::numeric_limits<int64_t>::max()}, ValueError);
  EXPECT_THROW(Scalar{std::numeric_limits<uint64_t>::max()}, ValueError);
}

TEST(Scalar, NeverWidensATensorOfItsKind) {
  for (const DType t : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    EXPECT_EQ(Scalar(0.5).promote(t), t);
    EXPECT_EQ(Scalar(2).promote(t), t);
  }
  for (const DType t : {DType::int64, DType::int32, DType::uint8}) {
    EXPECT_EQ(Scalar(2).promote(t), t);
    EXPECT_EQ(Scalar(0.5).promote(t), DType::float32);
  }
  EXPECT_EQ(Scalar(2).promote(DType::boolean), DType::int64);
  EXPECT_EQ(Scalar(0.5).promote(DType::boolean), DType::float32);
}

}  // namespace
}  // namespace accrue
