#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>

namespace accrue {
namespace {

// The wanted texts are NumPy's (repr without "array()"), except where a comment says so.
TEST(Print, RealsAreTrimmedAndAligned) {
  EXPECT_EQ(tensor({1, 2, 3}).to_string(), "[1., 2., 3.]");
  EXPECT_EQ(tensor({1, 2.5, -3.25}).to_string(), "[ 1.  ,  2.5 , -3.25]");
  EXPECT_EQ(tensor({3.14159265, 10}).to_string(), "[ 3.1416, 10.    ]");
  EXPECT_EQ(tensor({{1, 2}, {3, 40}}).to_string(), "[[ 1.,  2.],\n [ 3., 40.]]");
}

TEST(Print, ManyMagnitudesAreScientific) {
  EXPECT_EQ(tensor({1, 1e-5}).to_string(), "[1.e+00, 1.e-05]");
  EXPECT_EQ(tensor({123456789.0}, float64).to_string(), "[1.2346e+08], dtype=float64");
  EXPECT_EQ(tensor({0, 0.5}).to_string(), "[0. , 0.5]");
}

TEST(Print, NamesWhatIsNotFinite) {
  EXPECT_EQ(tensor({1.5, NAN, INFINITY, -INFINITY}).to_string(), "[ 1.5,  nan,  inf, -inf]");
  EXPECT_EQ(tensor({NAN}).to_string(), "[nan]");
}

TEST(Print, IntegersAndBooleans) {
  EXPECT_EQ(tensor({1, -20, 300}, int64).to_string(), "[  1, -20, 300]");
  EXPECT_EQ(tensor({1, 0}, DType::boolean).to_string(), "[ True, False]");
  EXPECT_EQ(tensor({1, 2}, int32).to_string(), "[1, 2], dtype=int32");
  EXPECT_EQ(from_data(std::vector<int64_t>{INT64_MAX, INT64_MIN}.data(), {2}).to_string(),
            "[ 9223372036854775807, -9223372036854775808]");
}

TEST(Print, SixteenBitFloatsShowTheirDtype) {
  EXPECT_EQ(tensor({1, 0.5}, DType::bfloat16).to_string(), "[1. , 0.5], dtype=bfloat16");
  EXPECT_EQ(tensor({0.1}, DType::float16).to_string(), "[0.1], dtype=float16");
}

TEST(Print, DimensionsNestWithBlankLinesBetween) {
  EXPECT_EQ(arange(8).alias(layout::contiguous({2, 2, 2})).to_string(),
            "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]");
}

TEST(Print, ViewsPrintInTheirOwnOrder) {
  const Tensor x = arange(6).alias(layout::contiguous({2, 3}));
  EXPECT_EQ(x.alias(layout::transpose(x.layout(), 0, 1)).to_string(),
            "[[0, 3],\n [1, 4],\n [2, 5]]");
  EXPECT_EQ(x.alias(layout::select(x.layout(), 0, 1)).to_string(), "[3, 4, 5]");
}

TEST(Print, LongTensorsShowTheirEdges) {
  EXPECT_EQ(arange(1001).to_string(), "[   0,    1,    2, ...,  998,  999, 1000]");
  const std::string rows = arange(3000).alias(layout::contiguous({1000, 3})).to_string();
  EXPECT_EQ(rows,
            "[[   0,    1,    2],\n [   3,    4,    5],\n [   6,    7,    8],\n ...,\n"
            " [2991, 2992, 2993],\n [2994, 2995, 2996],\n [2997, 2998, 2999]]");
  EXPECT_EQ(arange(1000).to_string().find("..."), std::string::npos);
}

TEST(Print, RowsWrapAtEightyColumns) {
  std::istringstream lines(arange(100).to_string());
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), 80U);
    ++count;
  }
  EXPECT_EQ(count, 5);  // 20 numbers of 4 columns a line
}

// A tensor of no dimensions is a number: no brackets, no dtype.
TEST(Print, OneNumberAndNoNumbers) {
  std::ostringstream out;
  out << scalar(0.69314718) << ' ' << scalar(1, float64) << ' ' << scalar(7, int64) << ' '
      << Tensor();
  EXPECT_EQ(out.str(), "0.6931 1.0 7 Tensor()");
  EXPECT_EQ(empty({0}).to_string(), "[]");
  EXPECT_EQ(empty({0, 3}, float64).to_string(), "[], shape=[0, 3], dtype=float64");
}

}  // namespace
}  // namespace accrue
