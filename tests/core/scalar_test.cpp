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
