#include <array>
#include <string>

#include <gtest/gtest.h>

#include <accrue/core/dtype.h>

namespace accrue {
namespace {

constexpr std::array kAll = {DType::float32, DType::float64, DType::bfloat16, DType::float16,
                             DType::int64,   DType::int32,   DType::uint8,    DType::boolean};

TEST(DType, NamesAndSizes) {
  EXPECT_EQ(detail::concat(DType::float32, ' ', DType::boolean), "float32 bool");
  EXPECT_EQ(std::string(name_of(DType::bfloat16)), "bfloat16");
  for (const DType t : kAll)
    visit_any(t, [t]<class T>() {
      EXPECT_EQ(sizeof(T), size_of(t)) << t;
      EXPECT_EQ(dtype_of<T>(), t);
    });
}

TEST(DType, OnlyTheFirstFourAreFloating) {
  for (const DType t : kAll) EXPECT_EQ(is_floating(t), t <= DType::float16) << t;
  EXPECT_EQ(visit_float(DType::float16, []<class T>() { return sizeof(T); }), 2U);
  EXPECT_THROW(visit_float(DType::int64, []<class T>() {}), DTypeError);
  EXPECT_THROW(visit_float(DType::boolean, []<class T>() {}), DTypeError);
}

TEST(DType, PromotionTable) {
  // f: float32, d: float64, b: bfloat16, h: float16, l: int64, i: int32, u: uint8, o: bool
  const std::string names = "fdbhliuo";
  const std::array<std::string, 8> table = {
      "fdffffff",  // float32
      "dddddddd",  // float64
      "fdbfbbbb",  // bfloat16
      "fdfhhhhh",  // float16
      "fdbhllll",  // int64
      "fdbhliii",  // int32
      "fdbhliuu",  // uint8
      "fdbhliuo",  // bool
  };
  for (size_t a = 0; a < 8; ++a)
    for (size_t b = 0; b < 8; ++b)
      EXPECT_EQ(names[static_cast<size_t>(promote(kAll[a], kAll[b]))], table[a][b])
          << kAll[a] << " with " << kAll[b];
}

TEST(DType, PromotionDoesNotDependOnOrder) {
  for (const DType a : kAll)
    for (const DType b : kAll) {
      EXPECT_EQ(promote(a, b), promote(b, a));
      EXPECT_EQ(promote(a, promote(a, b)), promote(a, b));
    }
}

}  // namespace
}  // namespace accrue
