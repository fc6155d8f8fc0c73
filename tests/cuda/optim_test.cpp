#include "tests/cuda/inputs.h"
#include "tests/cuda/support.h"

#include <accrue/kernels/optim.h>

namespace accrue::testing {
namespace {

using kernels::AdamStep;
using kernels::SgdStep;
using View = std::function<Tensor(const Tensor&)>;

Tensor whole(const Tensor& x) { return x; }
/// Dense, but no vector of 16 bytes begins where it does.
Tensor from_second(const Tensor& x) { return part_of(x, 0, 1, x.shape()[0]); }

/// Two steps; the first finds no state. Inputs are the memory of g and w; results that of w, the
/// state and the master.
Tensors sgd_twice(SgdStep s, const Tensors& in, const View& view) {
  const Tensor memory = copy_of(in[1]), g = view(in[0]), w = view(memory);
  const bool half = is_16bit_float(w.dtype());
  const DType dtype = half ? float32 : w.dtype();
  const Tensor momentum = empty(w.shape(), dtype, w.device());
  const Tensor master = to_device(full(w.shape(), 0.5, float32), w.device());
  for (const bool first : {true, false}) {
    s.first = first;
    kernels::sgd(s, g, into(w), s.momentum != 0 ? into(momentum) : Dest(),
                 half ? into(master) : Dest());
  }
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
    s.first = first;
    s.grad_scale = first ? 1 : 0.25;  // so that the old v_max is the larger one
    s.t = first ? 1 : 2;
    kernels::adam(s, g, into(w), into(state[0]), into(state[1]), with_max ? into(state[2]) : Dest(),
                  half ? into(master) : Dest());
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
      kernels::sgd({.lr = 1}, g, into(w), Dest(), into(master));
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
  kernels::sgd({.lr = 0.5}, g, into(w), Dest(), Dest());
  for (double v : w.to_vector<double>()) ASSERT_EQ(v, -0.5);
}

Tensors norms(const Tensor& x, const std::function<Dest(const Tensor&)>& write) {
  Tensors y;
  for (int i = 0; i < 4; ++i) y.push_back(to_device(full({}, 3, float64), x.device()));
  kernels::power_sum(2, 0.5, x, write(y[0]));
  kernels::power_sum(1, -2, x, write(y[1]));
  kernels::power_sum(1.5, 1, x, write(y[2]));
  kernels::max_abs(x, write(y[3]));
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

// Whole numbers: every order gives the same sum, and each must be in it once.
TEST_F(Optim, SumsOfWholeNumbersAreExact) {
  for (int64_t n : {1, 31, 257, 2048, 2049, 20001})
    under_every_schedule([&] {
      const Tensor x = to_device(arange(0, static_cast<double>(n), 1, float32), device);
      const Tensor y = empty({}, float64, device);
      kernels::power_sum(1, 1, x, into(y));
      EXPECT_EQ(y.item(), static_cast<double>(n) * static_cast<double>(n - 1) / 2);
      kernels::max_abs(x, into(y));
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
        kernels::max_abs(to_device(tensor(x, {n}), device), into(y));
        if (std::isnan(value))
          EXPECT_TRUE(std::isnan(y.item())) << n << " " << at;
        else
          EXPECT_EQ(y.item(), std::abs(value)) << n << " " << at;
        kernels::power_sum(2, 1, to_device(tensor(x, {n}), device), into(y));
        EXPECT_EQ(std::isfinite(y.item()), std::isfinite(value));
      }
  const Tensor y = empty({}, float64, device);
  kernels::power_sum(2, kInf, to_device(tensor({1, 2, 3}), device), into(y));
  EXPECT_EQ(y.item(), kInf);
}

}  // namespace
}  // namespace accrue::testing
