#include "tests/cuda/inputs.h"
#include "tests/cuda/support.h"

#include <accrue/kernels/optim.h>

namespace accrue::testing {
namespace {

using kernels::AdamParameter;
using kernels::AdamStep;
using kernels::SgdParameter;
using kernels::SgdStep;
using View = std::function<Tensor(const Tensor&)>;

void sgd_one(const SgdStep& s, const SgdParameter& p) { kernels::sgd(s, {&p, 1}); }
void power_sum_one(double p, double scale, const ConstView& x, const Dest& y) {
  kernels::power_sum(p, scale, {&x, 1}, y);
}
void max_abs_one(const ConstView& x, const Dest& y) { kernels::max_abs({&x, 1}, y); }

Tensor whole(const Tensor& x) { return x; }
/// Dense, but no vector of 16 bytes begins where it does.
Tensor from_second(const Tensor& x) { return part_of(x, 0, 1, x.shape()[0]); }

/// Two steps; the first finds no state. Inputs are the memory of g and w; results that of w, the
/// state and the master.
Tensors sgd_twice(const SgdStep& s, const Tensors& in, const View& view) {
  const Tensor memory = copy_of(in[1]), g = view(in[0]), w = view(memory);
  const bool half = is_16bit_float(w.dtype());
  const DType dtype = half ? float32 : w.dtype();
  const Tensor momentum = empty(w.shape(), dtype, w.device());
  const Tensor master = to_device(full(w.shape(), 0.5, float32), w.device());
  for (const bool first : {true, false})
    sgd_one(s, {.g = g,
                .w = into(w),
                .momentum = s.momentum != 0 ? into(momentum) : Dest(),
                .master = half ? into(master) : Dest(),
                .first = first});
  Tensors y = {memory};
  if (s.momentum != 0) y.push_back(momentum);
  if (half) y.push_back(master);
  return y;
}

Tensors adam_twice(AdamStep s, bool with_max, const Tensors& in, const View& view) {
  const Tensor memory = copy_of(in[1]), g = view(in[0]), w = view(memory);
  const bool half = is_16bit_float(w.dtype());
  const DType dtype = half ? float32 : w.dtype();
  Tensors state;
  for (int i = 0; i < 3; ++i) state.push_back(empty(w.shape(), dtype, w.device()));
  const Tensor master = to_device(full(w.shape(), 0.5, float32), w.device());
  for (const bool first : {true, false}) {
    s.grad_scale = first ? 1 : 0.25;  // so that the old v_max is the larger one
    const AdamParameter p{.g = g,
                          .w = into(w),
                          .m = into(state[0]),
                          .v = into(state[1]),
                          .v_max = with_max ? into(state[2]) : Dest(),
                          .master = half ? into(master) : Dest(),
                          .t = first ? 1 : 2,
                          .first = first};
    kernels::adam(s, {&p, 1});
  }
  Tensors y = {memory, state[0], state[1]};
  if (with_max) y.push_back(state[2]);
  if (half) y.push_back(master);
  return y;
}

class Optim : public OnExecutor {
 protected:
  /// Both optimizers with everything on, bit for bit.
  void expect_steps_as_on_cpu(const Dims& memory, DType dtype, const View& view) {
    const DType g = is_16bit_float(dtype) ? float32 : dtype;
    const Tensors in = {normal(memory, g), normal(memory, dtype, 1, 2)};
    const SgdStep sgd{.lr = 0.1,
                      .momentum = 0.9,
                      .dampening = 0.3,
                      .weight_decay = 0.01,
                      .grad_scale = 0.7,
                      .nesterov = true};
    expect_as_on_cpu(in, [&](const Tensors& x) { return sgd_twice(sgd, x, view); });
    const AdamStep adam{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-3, .weight_decay = 0.01};
    expect_as_on_cpu(in, [&](const Tensors& x) { return adam_twice(adam, true, x, view); });
  }
};

TEST_F(Optim, StepsAreTheCpusBitForBit) {
  for (DType dtype : {float32, float64, DType::bfloat16, DType::float16}) {
    for (int64_t n : {0, 1, 3, 4, 33, 1000, 1030}) expect_steps_as_on_cpu({n}, dtype, whole);
    expect_steps_as_on_cpu({6, 8}, dtype, strided_part);
    expect_steps_as_on_cpu({35}, dtype, from_second);
  }
}

TEST_F(Optim, EveryOptionOfSgdIsTheCpus) {
  const Tensors in = {normal({37}), normal({37}, float32, 1, 2)};
  for (const SgdStep& s :
       {SgdStep{.lr = 0.1}, SgdStep{.lr = 0.1, .weight_decay = 0.1},
        SgdStep{.lr = 0.1, .momentum = 0.9}, SgdStep{.lr = 0.1, .momentum = 0.9, .dampening = 0.5},
        SgdStep{.lr = 0.1, .momentum = 0.9, .nesterov = true},
        SgdStep{.lr = 0.1, .momentum = 0.5, .grad_scale = -3}})
    expect_as_on_cpu(in, [&](const Tensors& x) { return sgd_twice(s, x, whole); });
}

TEST_F(Optim, EveryOptionOfAdamIsTheCpus) {
  const Tensors in = {normal({37}), normal({37}, float32, 1, 2)};
  for (double decay : {0.0, 0.1})
    for (bool decoupled : {false, true})
      for (bool with_max : {false, true})
        expect_as_on_cpu(in, [&](const Tensors& x) {
          return adam_twice({.lr = 0.1,
                             .beta1 = 0.9,
                             .beta2 = 0.99,
                             .eps = 1e-8,
                             .weight_decay = decay,
                             .decoupled = decoupled},
                            with_max, x, whole);
        });
}

// The master stands for w where it rounds to it, and gives way where somebody has changed w. Zeros
// of both signs are two values.
TEST_F(Optim, AMasterGivesWayToAChangedParameter) {
  for (DType dtype : {DType::bfloat16, DType::float16})
    under_every_schedule([&] {
      const double little = 0x1p-14;  // beside 1 lost in 16 bits
      const Tensor w = to_device(tensor({1, 2, 0, 1}, dtype), device);
      const Tensor master =
          to_device(tensor({1 + little, 1 + little, -0.0, kNaN}, float32), device);
      const Tensor g = to_device(tensor({-little, -little, 0, 0}, float32), device);
      sgd_one({.lr = 1}, {.g = g, .w = into(w), .momentum = {}, .master = into(master)});
      const std::vector<double> m = master.to_vector<double>();
      EXPECT_EQ(m[0], 1 + 2 * little);
      EXPECT_EQ(m[1], 2 + little);
      EXPECT_FALSE(std::signbit(m[2]));
      EXPECT_EQ(m[3], 1);
      EXPECT_EQ(w.to_vector<double>(), (std::vector<double>{1, 2, 0, 1}));
    });
}

// More elements than one grid has threads for.
TEST_F(Optim, AStepReachesEveryElementOfALargeParameter) {
  const int64_t n = (1 << 18) + 5;
  const Tensor g = ones({n}, float64, device), w = zeros({n}, float64, device);
  sgd_one({.lr = 0.5}, {.g = g, .w = into(w), .momentum = {}, .master = {}});
  for (double v : w.to_vector<double>()) ASSERT_EQ(v, -0.5);
}

/// Parameters of every kind, in turn, and of sizes from 0 on: w and g of number i are in[2 * i] and
/// in[2 * i + 1].
Tensors mixed_parameters(int count) {
  const DType dtypes[] = {float32, float32, float64, float32, DType::bfloat16, DType::float16};
  Tensors all;
  for (int i = 0; i < count; ++i) {
    const DType t = dtypes[i % 6];
    const auto seed = static_cast<uint32_t>(i);
    all.push_back(normal({2 * (i % 9), 6}, t, 1, 1 + seed));
    all.push_back(normal({2 * (i % 9), 6}, is_16bit_float(t) ? float32 : t, 1, 100 + seed));
  }
  return all;
}
/// Every fourth is strided.
Tensor view_of(size_t number, const Tensor& x) { return number % 4 == 3 ? strided_part(x) : x; }

/// A step of AdamW on them all: their weights, first moments and masters afterwards.
Tensors adam_on_all(const Tensors& in) {
  Tensors y;
  std::vector<AdamParameter> all;
  const auto fresh = [&](const Tensor& like, double value) {
    y.push_back(to_device(full(like.shape(), value, like.dtype()), like.device()));
    return into(y.back());
  };
  for (size_t i = 0; i < in.size() / 2; ++i) {
    const Tensor memory = copy_of(in[2 * i]), w = view_of(i, memory), g = view_of(i, in[2 * i + 1]);
    y.push_back(memory);
    const bool first = i % 3 != 0;
    all.push_back({.g = g,
                   .w = into(w),
                   .m = fresh(g, 0.5),
                   .v = fresh(g, 0.25),
                   .v_max = i % 5 == 0 ? fresh(g, 0.1) : Dest(),
                   .master = is_16bit_float(w.dtype()) ? fresh(g, 0.5) : Dest(),
                   .t = first ? 1 : static_cast<int64_t>(i + 2),
                   .first = first});
  }
  kernels::adam(
      {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-3, .weight_decay = 0.1, .decoupled = true},
      all);
  return y;
}

// So many that those of each kind need more than one launch.
TEST_F(Optim, ManyParametersOfEveryKindAreSteppedAsOnTheCpu) {
  expect_as_on_cpu(mixed_parameters(200), adam_on_all);
}

TEST_F(Optim, AStepOfAModelIsOneLaunch) {
  std::vector<SgdParameter> all;
  Tensors keep;
  for (int64_t n = 1; n <= 40; ++n) {
    keep.push_back(zeros({n}, float32, device));
    keep.push_back(ones({n}, float32, device));
    all.push_back(
        {.g = keep.back(), .w = into(keep[keep.size() - 2]), .momentum = {}, .master = {}});
  }
  synchronize(device);
  const auto before = simt::counts().launches;
  kernels::sgd({.lr = 0.5}, all);
  EXPECT_EQ(simt::counts().launches, before + 1);
  for (size_t i = 0; i < keep.size(); i += 2)
    for (double v : keep[i].to_vector<double>()) ASSERT_EQ(v, -0.5) << i;
  kernels::sgd({.lr = 0.5}, {});
  EXPECT_EQ(simt::counts().launches, before + 1);
}

Tensors norms(const Tensor& x, const std::function<Dest(const Tensor&)>& write) {
  Tensors y;
  for (int i = 0; i < 4; ++i) y.push_back(to_device(full({}, 3, float64), x.device()));
  power_sum_one(2, 0.5, x, write(y[0]));
  power_sum_one(1, -2, x, write(y[1]));
  power_sum_one(1.5, 1, x, write(y[2]));
  max_abs_one(x, write(y[3]));
  return y;
}

TEST_F(Optim, NormsAreTheCpus) {
  for (DType dtype : {float32, float64, DType::bfloat16, DType::float16}) {
    for (int64_t n : {0, 1, 3, 4, 33, 1000, 4099})
      expect_as_on_cpu(
          {normal({n}, dtype)}, [](const Tensors& x) { return norms(x[0], into); }, 32);
    expect_as_on_cpu(
        {normal({6, 8}, dtype)}, [](const Tensors& x) { return norms(strided_part(x[0]), into); },
        32);
    expect_as_on_cpu(
        {normal({35}, dtype)}, [](const Tensors& x) { return norms(from_second(x[0]), adding_to); },
        32);
  }
}

TEST_F(Optim, NormsDoNotDependOnHowAGradientLies) {
  const Tensor x = normal({66, 70}, float32);
  const Tensor dense = to_device(copy_of(strided_part(x)), device);
  const Tensors right = norms(dense, into), got = norms(strided_part(to_device(x, device)), into);
  for (size_t k = 0; k < got.size(); ++k) EXPECT_EQ(got[k].item(), right[k].item()) << k;
}

Tensors norms_of_all(const Tensors& x) {
  const std::vector<ConstView> all(x.begin(), x.end());
  Tensors y;
  for (int i = 0; i < 2; ++i) y.push_back(empty({}, float64, x[0].device()));
  kernels::power_sum(2, 1, all, into(y[0]));
  kernels::max_abs(all, into(y[1]));
  return y;
}

TEST_F(Optim, TheNormOfManyGradientsIsTheCpus) {
  expect_as_on_cpu(mixed_parameters(400), norms_of_all, 32);
}

TEST_F(Optim, TheNormOfAModelIsTwoLaunchesWhereverItsGradientsLie) {
  Tensors here, dense, strided;
  for (uint32_t n = 1; n <= 40; ++n) {
    here.push_back(normal({2 * n, 70}, float32, 1, n));
    const Tensor there = to_device(here.back(), device);
    dense.push_back(to_device(copy_of(strided_part(there)), device));
    strided.push_back(n % 3 == 0 ? strided_part(there) : dense.back());
  }
  expect_as_on_cpu(here, norms_of_all, 32);
  const Tensors right = norms_of_all(strided);
  synchronize(device);
  const auto before = simt::counts().launches;
  const Tensors got = norms_of_all(dense);
  EXPECT_EQ(simt::counts().launches, before + 4);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].item(), right[i].item()) << i;
}

TEST_F(Optim, TheNormOfNoGradientsIsNothing) {
  const Tensor y = to_device(full({}, 3, float64), device);
  kernels::power_sum(2, 1, {}, into(y));
  EXPECT_EQ(y.item(), 0);
}

// Whole numbers: every order gives the same sum, and each must be in it once.
TEST_F(Optim, SumsOfWholeNumbersAreExact) {
  for (int64_t n : {1, 31, 257, 2048, 2049, 20001})
    under_every_schedule([&] {
      const Tensor x = to_device(arange(0, static_cast<double>(n), 1, float32), device);
      const Tensor y = empty({}, float64, device);
      power_sum_one(1, 1, x, into(y));
      EXPECT_EQ(y.item(), static_cast<double>(n) * static_cast<double>(n - 1) / 2);
      max_abs_one(x, into(y));
      EXPECT_EQ(y.item(), static_cast<double>(n - 1));
    });
}

TEST_F(Optim, TheLargestIsFoundAnywhereAndNaNIsLargest) {
  for (int64_t n : {1, 5, 33, 300, 5000})
    for (int64_t at : {int64_t{0}, n / 2, n - 1})
      for (double value : {-7.0, kInf, -kInf, kNaN}) {
        std::vector<double> x(static_cast<size_t>(n), 1);
        x[static_cast<size_t>(at)] = value;
        const Tensor y = empty({}, float64, device);
        max_abs_one(to_device(tensor(x, {n}), device), into(y));
        if (std::isnan(value))
          EXPECT_TRUE(std::isnan(y.item())) << n << " " << at;
        else
          EXPECT_EQ(y.item(), std::abs(value)) << n << " " << at;
        power_sum_one(2, 1, to_device(tensor(x, {n}), device), into(y));
        EXPECT_EQ(std::isfinite(y.item()), std::isfinite(value));
      }
  const Tensor y = empty({}, float64, device);
  power_sum_one(2, kInf, to_device(tensor({1, 2, 3}), device), into(y));
  EXPECT_EQ(y.item(), kInf);
}

}  // namespace
}  // namespace accrue::testing
