#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/half.h>

namespace accrue {
namespace {

template <class T>
T from_bits(int bits) {
  T value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

/// What the format says, in double: sign, exponent, fraction.
double decode(int bits, int fraction_bits) {
  const int exponent_bits = 15 - fraction_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

/// The nearest value of the format, ties to the even fraction, found among all of them.
int nearest(double value, int fraction_bits) {
  const int infinity = ((1 << (15 - fraction_bits)) - 1) << fraction_bits;
  const double size = std::abs(value);
  int low = 0;
  int high = infinity;  // as if it continued the finite numbers
  const auto at = [&](int bits) {
    return bits == infinity ? 2 * decode(bits - 1, fraction_bits) - decode(bits - 2, fraction_bits)
                            : decode(bits, fraction_bits);
  };
  if (size >= at(infinity)) return infinity | (std::signbit(value) ? 0x8000 : 0);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (at(middle) <= size ? low : high) = middle;
  }
  const double below = size - at(low);
  const double above = at(high) - size;
  const int bits = below < above || (below == above && low % 2 == 0) ? low : high;
  return bits | (std::signbit(value) ? 0x8000 : 0);
}

template <class T, int kFraction>
void every_pattern_round_trips() {
  for (int bits = 0; bits < 65536; ++bits) {
    const T value = from_bits<T>(bits);
    const double want = decode(bits, kFraction);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(float(value))) << bits;
      ASSERT_TRUE(std::isnan(float(T(float(value))))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(float(value)), want) << bits;
    ASSERT_EQ(std::signbit(float(value)), bits >= 0x8000) << bits;
    ASSERT_EQ(T(float(value)).bits, bits);
  }
}

template <class T, int kFraction>
void rounding_finds_the_nearest() {
  const auto check_one = [](float value) {
    ASSERT_EQ(T(value).bits, nearest(static_cast<double>(value), kFraction)) << value;
  };
  // around every value and every midpoint of the format
  for (int bits = 0; bits < 0x7f80; ++bits) {
    const double a = decode(bits, kFraction);
    const double b = decode(bits + 1, kFraction);
    if (!std::isfinite(b)) break;
    const auto middle = static_cast<float>((a + b) / 2);
    for (const float v : {static_cast<float>(a), middle, std::nextafter(middle, INFINITY),
                          std::nextafter(middle, 0.0F)}) {
      check_one(v);
      check_one(-v);
    }
  }
  uint32_t random = 2463534242;
  for (int i = 0; i < 200000; ++i) {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    const auto v = std::bit_cast<float>(random);
    if (!std::isnan(v)) check_one(v);
  }
}

TEST(Half, EveryFloat16RoundTrips) { every_pattern_round_trips<float16, 10>(); }
TEST(Half, EveryBfloat16RoundTrips) { every_pattern_round_trips<bfloat16, 7>(); }
TEST(Half, Float16RoundsToNearestEven) { rounding_finds_the_nearest<float16, 10>(); }
TEST(Half, Bfloat16RoundsToNearestEven) { rounding_finds_the_nearest<bfloat16, 7>(); }

TEST(Half, NaNStaysNaNWhateverItsPayload) {
  for (const uint32_t bits : {0x7f800001U, 0x7fffffffU, 0xff800001U, 0xffc00000U}) {
    EXPECT_TRUE(std::isnan(float(float16(std::bit_cast<float>(bits))))) << bits;
    EXPECT_TRUE(std::isnan(float(bfloat16(std::bit_cast<float>(bits))))) << bits;
  }
}

TEST(Half, ConvertsInConstantExpressions) {
  static_assert(float16(1.5F).bits == 0x3e00 && float(float16(1.5F)) == 1.5F);
  static_assert(bfloat16(-2.0F).bits == 0xc000 && float(bfloat16(-2.0F)) == -2.0F);
}

TEST(Core, case_DT_07) {
  const auto bf = [](double v) {
    return static_cast<double>(float(bfloat16(static_cast<float>(v))));
  };
  const auto hf = [](double v) {
    return static_cast<double>(float(float16(static_cast<float>(v))));
  };
  EXPECT_EQ(bf(1 + 0x1p-8), 1);
  EXPECT_EQ(bf(1 + 3 * 0x1p-8), 1.015625);
  EXPECT_EQ(bf(1 + 0x1p-8 + 0x1p-20), 1.0078125);
  EXPECT_EQ(hf(65519), 65504);
  EXPECT_EQ(hf(65520), INFINITY);
  EXPECT_EQ(hf(0x1p-24), 0x1p-24);
  EXPECT_EQ(hf(0x1p-25), 0);
  EXPECT_EQ(hf(1.0001 * 0x1p-25), 0x1p-24);
  EXPECT_EQ(tensor({1 + 3 * 0x1p-8}, DType::bfloat16).item(), 1.015625);
  EXPECT_EQ(tensor({65519.0}, DType::float16).item(), 65504);
}

}  // namespace
}  // namespace accrue
