#include <string>

#include <gtest/gtest.h>

#include <accrue/core/dims.h>
#include <accrue/core/error.h>

namespace accrue {
namespace {

template <class E>
void is_caught_as_error() {
  EXPECT_THROW(throw E("x"), Error);
  EXPECT_THROW(throw E("x"), std::runtime_error);
}

TEST(Error, EveryTypeIsAnError) {
  is_caught_as_error<ShapeError>();
  is_caught_as_error<DTypeError>();
  is_caught_as_error<DeviceError>();
  is_caught_as_error<AutogradError>();
  is_caught_as_error<IndexError>();
  is_caught_as_error<ValueError>();
  is_caught_as_error<CudaError>();
  is_caught_as_error<FileError>();
  is_caught_as_error<OutOfMemory>();
}

TEST(Error, CheckThrowsItsPartsJoined) {
  EXPECT_NO_THROW(check<ShapeError>(true, "never"));
  try {
    check<ValueError>(false, "op: ", 3, ' ', Dims{1, 2}, ' ', true, ' ', 0.5);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(), "op: 3 [1, 2] true 0.5");
  }
}

TEST(Error, AnAssertionNamesItsPlace) {
  EXPECT_NO_THROW(ACCRUE_ASSERT(1 + 1 == 2));
  try {
    ACCRUE_ASSERT(1 + 1 == 3);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("1 + 1 == 3"), std::string::npos) << text;
    EXPECT_NE(text.find("error_test.cpp:" + std::to_string(__LINE__ - 5)), std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace accrue
