// In-place changes and what backward still needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <accrue/core/factories.h>

#include <accrue/autograd/grad.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/ops.h>

namespace accrue {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Values = std::vector<double>;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, DType::float64).set_requires_grad();
}
Tensor two_ones() { return ones({2}, DType::float64); }

TEST(Saved, case_VI_03_AChangedSavedTensorIsAnErrorWithAnAction) {
  Tensor x = leaf({1, 2});
  Tensor y = exp(x);
  {
    const NoGrad off;
    y += 1.0;
  }
  EXPECT_THAT([&] { y.backward({.gradient = two_ones()}); },
              ThrowsMessage<AutogradError>(AllOf(HasSubstr("exp: "), HasSubstr("shape [2]"),
                                                 HasSubstr("at version 1"), HasSubstr("version 0"),
                                                 HasSubstr("clone it first"))));
  EXPECT_FALSE(x.grad().defined());
  Tensor z = x * 1.0;
  Tensor sine = sin(z);
  Tensor shifted = z + 3.0;
  {
    const NoGrad off;
    z += 1.0;
  }
  EXPECT_THROW(sine.backward({.gradient = two_ones()}), AutogradError);
  shifted.backward({.gradient = two_ones()});  // z + 3 needs no values
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{1, 1}));
}

TEST(Saved, case_VI_04_ViewsShareTheVersionCounter) {
  Tensor x = leaf({1, 2});
  Tensor u = two_ones() * 1.0;
  Tensor v = detach(u);
  Tensor y = x * v;
  u *= 2.0;
  EXPECT_THROW(y.backward({.gradient = two_ones()}), AutogradError);
}

TEST(Saved, AGradientThatIsAddedToIsAChangedTensor) {
  Tensor w = leaf({1, 2}), x = leaf({1, 1});
  sum(w).backward();
  const Tensor loss = sum(x * w.grad());
  sum(w * 5.0).backward();
  EXPECT_THROW(loss.backward(), AutogradError);
  w.zero_grad();
  sum(w).backward();
  const Tensor copied = sum(x * clone(w.grad()));
  sum(w * 5.0).backward();
  copied.backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{1, 1}));
  EXPECT_THROW(sum(w * w.grad()).backward(), AutogradError);  // it would read what it writes
}

TEST(InPlace, case_VI_10_ALeafIsRefusedBeforeItChanges) {
  Tensor x = leaf({1, 2});
  EXPECT_THROW(x += 1.0, AutogradError);
  EXPECT_EQ(x.to_vector<double>(), (Values{1, 2}));
  EXPECT_EQ(x.version(), 0U);
  const NoGrad off;
  x += 1.0;
  EXPECT_EQ(x.to_vector<double>(), (Values{2, 3}));
}

TEST(InPlace, case_VI_01_OverlappingElementsAreRefused) {
  Tensor one = scalar(1);
  Tensor four = one.alias(layout::expand(one.layout(), {4, 5}));
  EXPECT_THAT([&] { four += 1.0; }, ThrowsMessage<ShapeError>(HasSubstr("share memory; clone it")));
  EXPECT_EQ(one.item(), 1);
}

TEST(InPlace, AnOperandInTheSameMemoryIsReadBeforeItChanges) {
  Tensor x = tensor({1, 2, 3, 4});
  const auto part = [&](int64_t start) { return x.alias(layout::narrow(x.layout(), 0, start, 3)); };
  Tensor tail = part(1);
  tail += part(0);
  EXPECT_EQ(x.to_vector<double>(), (Values{1, 3, 5, 7}));
  Tensor reversed = tensor({{1, 2}, {3, 4}});
  reversed += reversed.alias(layout::transpose(reversed.layout(), 0, 1));
  EXPECT_EQ(reversed.to_vector<double>(), (Values{2, 5, 5, 8}));
}

TEST(InPlace, FractionsAndWiderShapesAreRefused) {
  Tensor counts = arange(3);
  EXPECT_THROW(counts += 0.5, DTypeError);
  EXPECT_THROW(counts /= 2, DTypeError);
  EXPECT_THROW(counts += tensor({0.5, 0.5, 0.5}), DTypeError);
  EXPECT_THROW(counts *= ones({3}, DType::bfloat16), DTypeError);
  Tensor mask = zeros({3}, DType::boolean);
  EXPECT_THROW(mask += counts, DTypeError);
  EXPECT_THROW(counts += zeros({2, 3}), ShapeError);
  counts += 2;
  counts += ones({3}, DType::boolean);
  EXPECT_EQ(counts.to_vector<double>(), (Values{3, 4, 5}));
}

}  // namespace
}  // namespace accrue
