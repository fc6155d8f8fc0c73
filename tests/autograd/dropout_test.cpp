#include "tests/autograd/op_laws.h"

#include <accrue/core/memory.h>

#include <accrue/autograd/ops.h>

namespace accrue {
namespace {

using namespace testing;

TEST(Dropout, KeepsByThePhiloxWordOfTheElement) {
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16})
    for (double p : {0.1, 0.5, 0.75}) {
      Generator generator(77);
      generator.set_state({.seed = 77, .call = (uint64_t{1} << 40) + 3});
      const Philox bits = generator.state();
      const Tensor x = full({5, 1031}, 3, dtype);
      const Values y = values(dropout(x, p, true, generator));
      const double kept =
          dtype == DType::bfloat16
              ? static_cast<double>(static_cast<float>(bfloat16(static_cast<float>(3 / (1 - p)))))
              : 3 / (1 - p);
      for (size_t i = 0; i < y.size(); ++i) {
        const bool keep = bits.bits32(static_cast<int64_t>(i)) >= p * 0x1p32;
        EXPECT_NEAR(y[i], keep ? kept : 0, 1e-6) << i;
      }
      EXPECT_EQ(generator.state().call, bits.call + 1);
    }
}

TEST(Dropout, KeepsTheShareItShould) {
  Generator generator(1);
  const int64_t n = 100000;
  const double p = 0.3;
  const Values y = values(dropout(ones({n}), p, true, generator));
  const auto kept =
      static_cast<double>(std::count_if(y.begin(), y.end(), [](double v) { return v != 0; }));
  const double deviation = std::sqrt(static_cast<double>(n) * p * (1 - p));
  EXPECT_NEAR(kept, (1 - p) * static_cast<double>(n), 5 * deviation);
}

TEST(Dropout, GradientLaws) {
  const auto f = [](const std::vector<Tensor>& in) {
    Generator generator(5);  // the same mask in every call
    return dropout(in[0], 0.4, true, generator);
  };
  expect_gradient_laws(f, {wavy({4, 3, 5})});
  expect_gradient_laws(f, {wavy({3, 700})});
  expect_gradient_laws(f, {wavy(Dims{})});
}

TEST(Dropout, DoesNotDependOnThreadsOrLayout) {
  const auto f = [](const Tensor& x) {
    Generator generator(9);
    return values(dropout(x, 0.5, true, generator));
  };
  const Tensor x = wavy({31, 1031}, 0, DType::float32);
  set_num_threads(1);
  const Values y = f(x);
  EXPECT_EQ(f(scattered(x)), y);
  for (int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(f(x), y);
  }
  set_num_threads(2);
}

TEST(Dropout, AnotherCallIsAnotherMaskAndASeedRepeatsIt) {
  const Tensor x = ones({100});
  manual_seed(3);
  const Values first = values(dropout(x, 0.5));
  const Values second = values(dropout(x, 0.5));
  EXPECT_NE(first, second);
  manual_seed(3);
  EXPECT_EQ(values(dropout(x, 0.5)), first);
}

TEST(Dropout, WithoutTrainingIsTheIdentityAndTakesNoRandomNumber) {
  Generator generator(1);
  Tensor x = leaf({1, 2, 3}, {3});
  const Tensor y = dropout(x, 0.9, false, generator);
  EXPECT_EQ(values(y), values(x));
  EXPECT_EQ(generator.state().call, 0U);
}

TEST(Dropout, WithoutMemoryItTakesNoRandomNumber) {
  const Tensor x = wavy({2, 3, 4});
  const auto drawn = [](const auto& f) {
    const uint64_t before = default_generator().state().call;
    memory_testing::fail_allocation(1, false, default_device());
    EXPECT_THROW(f(), OutOfMemory);
    memory_testing::fail_allocation(0, false, default_device());
    return default_generator().state().call - before;
  };
  EXPECT_EQ(drawn([&] { dropout(x, 0.5); }), 0U);
  EXPECT_EQ(drawn([&] { scaled_dot_product_attention(x, x, x, {.dropout_p = 0.5}); }), 0U);
}

TEST(Dropout, DropsInfinityToo) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (double v : values(dropout(full({64}, infinity), 0.5))) EXPECT_FALSE(std::isnan(v));
}

TEST(Dropout, OfNothingIsNothing) {
  Tensor x = leaf(Values{}, {0, 3});
  const Tensor y = dropout(x, 0.5);
  EXPECT_EQ(y.shape(), (Dims{0, 3}));
  backward(y, zeros({0, 3}, DType::float64));
  EXPECT_EQ(x.grad().shape(), (Dims{0, 3}));
}

TEST(Dropout, RefusesWithASentence) {
  const Tensor x = ones({3});
  EXPECT_EQ(message_of<ValueError>([&] { dropout(x, 1.5); }),
            "dropout: the probability is 1.5; it must be in [0, 1]");
  EXPECT_THROW(dropout(x, -0.1), ValueError);
  EXPECT_THROW(dropout(x, std::nan("")), ValueError);
  EXPECT_THROW(dropout(x, std::nan(""), false), ValueError);
  EXPECT_THROW(dropout(arange(3), 0.5), DTypeError);
}

TEST(Dropout, case_DO_01) {
  Tensor x = leaf({1, 2, 3}, {3}, DType::float32);
  const Tensor none = dropout(x, 1);
  EXPECT_EQ(values(none), (Values{0, 0, 0}));
  backward(none, ones({3}));
  EXPECT_EQ(values(x.grad()), (Values{0, 0, 0}));
  x.zero_grad();
  const Tensor all = dropout(x, 0);
  EXPECT_EQ(values(all), (Values{1, 2, 3}));
  backward(mul(all, 1.0), ones({3}));
  EXPECT_EQ(values(x.grad()), (Values{1, 1, 1}));
}

TEST(Dropout, case_DO_03) {
  for (int i = 0; i < 20; ++i) {
    Tensor x = leaf({1, 2, 3, 4, 5, 6, 7, 8}, {8}, DType::float32);
    const Tensor y = dropout(x, 0.5);
    const Values out = values(y);
    backward(y, ones({8}));
    const Values dx = values(x.grad());
    for (size_t j = 0; j < 8; ++j) {
      EXPECT_EQ(dx[j], out[j] != 0 ? 2 : 0);
      EXPECT_TRUE(out[j] == 0 || out[j] == 2 * static_cast<double>(j + 1));
    }
  }
}

}  // namespace
}  // namespace accrue
