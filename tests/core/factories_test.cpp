#include <cmath>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/transfer.h>

namespace accrue {
namespace {

using Numbers = std::vector<double>;
Numbers numbers(const Tensor& x) { return x.to_vector<double>(); }

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Factories, ConstantsFillEveryDtype) {
  for (const DType t : {float32, float64, DType::bfloat16, DType::float16, int64, int32, uint8}) {
    EXPECT_EQ(numbers(zeros({2, 2}, t)), (Numbers{0, 0, 0, 0}));
    EXPECT_EQ(numbers(ones({2}, t)), (Numbers{1, 1}));
    EXPECT_EQ(numbers(full({2}, 5, t)), (Numbers{5, 5}));
    EXPECT_EQ(ones({2}, t).dtype(), t);
  }
  EXPECT_EQ(numbers(full({1}, 5, DType::boolean)), (Numbers{1}));
}

TEST(Factories, LikeTakesShapeDtypeAndNotStrides) {
  const Tensor x = empty({2, 3}, float64);
  const Tensor t = x.alias(layout::transpose(x.layout(), 0, 1));
  EXPECT_EQ(zeros_like(t).shape(), (Dims{3, 2}));
  EXPECT_EQ(zeros_like(t).dtype(), float64);
  EXPECT_TRUE(ones_like(t).is_contiguous());
  EXPECT_EQ(empty_like(t).shape(), t.shape());
}

TEST(Factories, LiteralsHaveTheirShape) {
  EXPECT_EQ(scalar(3).shape(), (Dims{}));
  EXPECT_EQ(tensor({1, 2, 3}).shape(), (Dims{3}));
  const Tensor m = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(m.shape(), (Dims{2, 3}));
  EXPECT_EQ(m.at({1, 0}), 4);
  EXPECT_EQ(tensor({1, 2, 3, 4}, Dims{2, 2}).at({1, 1}), 4);
  EXPECT_EQ(message_of([] {
              tensor({1, 2, 3}, Dims{2, 2});
            }),
            "tensor: 3 values for shape [2, 2]; it holds 4");
  EXPECT_THROW(tensor({{1, 2}, {3}}), ShapeError);
}

TEST(Factories, FromDataCopies) {
  std::vector<int32_t> source = {1, 2, 3, 4};
  const Tensor x = from_data(source.data(), {2, 2});
  source[0] = 9;
  EXPECT_EQ(x.dtype(), int32);
  EXPECT_EQ(numbers(x), (Numbers{1, 2, 3, 4}));
}

TEST(Factories, ArangeStopsBeforeItsEnd) {
  EXPECT_EQ(numbers(arange(4)), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(numbers(arange(1, 2, 0.25, float32)), (Numbers{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(numbers(arange(3, -4, -2)), (Numbers{3, 1, -1, -3}));
  EXPECT_EQ(arange(2, 2).numel(), 0);
  EXPECT_THROW(arange(0, 1, 0), ValueError);
  EXPECT_THROW(arange(0, 1, -1), ValueError);
  EXPECT_THROW(arange(0, INFINITY), ValueError);
  EXPECT_THROW(arange(0, 1, 0.25), ValueError);  // would be four zeros
  EXPECT_THROW(arange(0.5, 4, 1), ValueError);
  EXPECT_EQ(numbers(arange(0, 2.5)), (Numbers{0, 1, 2}));
}

TEST(Factories, LinspaceHitsBothEnds) {
  EXPECT_EQ(numbers(linspace(0, 1, 5)), (Numbers{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(numbers(linspace(2, 9, 1)), (Numbers{2}));
  EXPECT_EQ(linspace(0, 0.1, 7, float64).at({6}), 0.1);
  EXPECT_EQ(linspace(0, 1, 0).numel(), 0);
  EXPECT_THROW(linspace(0, 1, -1), ShapeError);
}

TEST(Factories, EyeIsOneOnTheDiagonal) {
  EXPECT_EQ(numbers(eye(2)), (Numbers{1, 0, 0, 1}));
  EXPECT_EQ(eye(0).shape(), (Dims{0, 0}));
}

TEST(Factories, AnIntegerDtypeTakesOnlyWhatItHolds) {
  EXPECT_EQ(full({1}, 255.9, uint8).item(), 255);
  EXPECT_EQ(full({1}, -0.9, uint8).item(), 0);
  EXPECT_EQ(full({1}, INT32_MIN, int32).item(), INT32_MIN);
  EXPECT_EQ(full({1}, -0x1p63, int64).item(), -0x1p63);
  EXPECT_EQ(message_of([] { full({1}, 256, uint8); }),
            "full: 256 does not fit dtype uint8; its range is [0, 256)");
  EXPECT_THROW(full({1}, -1, uint8), ValueError);
  EXPECT_THROW(full({1}, 0x1p31, int32), ValueError);
  EXPECT_THROW(full({1}, 0x1p63, int64), ValueError);
  EXPECT_THROW(tensor({1, NAN}, int64), ValueError);
  EXPECT_THROW(arange(300, uint8), ValueError);
}

TEST(Factories, ErrorsNameTheMaker) {
  EXPECT_EQ(message_of([] { ones({-2}); }), "ones: a size is negative: [-2]; sizes are 0 or more");
  EXPECT_EQ(message_of([] { eye(-1); }), "eye: a size is negative: [-1, -1]; sizes are 0 or more");
}

TEST(Factories, ToDeviceOfTheSameDeviceIsTheSameTensor) {
  const Tensor x = ones({2});
  EXPECT_TRUE(to_device(x, Device::cpu()).same_storage(x));
}

}  // namespace
}  // namespace accrue
