// Convolution on device cuda: where every element is one chain, the bits of the CPU, in every order
// of blocks and threads and in tiles of every size; where chains are cut, exact sums.
#include <limits>

#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/layout.h>

#include <accrue/kernels/conv.h>
#include <accrue/kernels/cuda/conv_operands.cuh>
#include <accrue/kernels/cuda/tile_choice.h>
#include <accrue/kernels/split_invariant.h>

namespace accrue::testing {
namespace {

using kernels::ConvParams;
using kernels::cuda::force_tile;
using kernels::cuda::TileChoice;
using ::testing::ElementsAre;

struct Case {
  int64_t n, c, h, w, o, kh, kw;
  ConvParams p = {};

  Dims x() const { return {n, c, h, w}; }
  Dims weights() const { return {o, c / p.groups, kh, kw}; }
  Dims y() const {
    return {n, o, (h + 2 * p.padding[0] - p.dilation[0] * (kh - 1) - 1) / p.stride[0] + 1,
            (w + 2 * p.padding[1] - p.dilation[1] * (kw - 1) - 1) / p.stride[1] + 1};
  }
  std::string text() const { return detail::concat(x(), " * ", weights(), " = ", y()); }
};

const Case kCases[] = {
    {2, 3, 5, 6, 4, 3, 3},
    {1, 1, 4, 4, 1, 1, 1},
    {3, 5, 4, 3, 6, 1, 1},
    {2, 2, 7, 5, 3, 3, 2, {.stride = {2, 3}, .padding = {1, 2}}},
    {1, 2, 9, 8, 2, 3, 3, {.padding = {2, 2}, .dilation = {2, 3}}},
    {2, 4, 6, 6, 6, 3, 3, {.stride = {2, 2}, .padding = {1, 1}, .dilation = {2, 1}, .groups = 2}},
    {1, 2, 9, 9, 2, 4, 4, {.stride = {4, 6}, .padding = {1, 0}, .dilation = {2, 2}}},
    {2, 3, 5, 5, 3, 3, 3, {.padding = {1, 1}, .groups = 3}},
    {2, 3, 5, 5, 6, 3, 3, {.padding = {1, 1}, .groups = 3}},
    {1, 1, 3, 3, 2, 1, 1, {.stride = {2, 2}}},
    {1, 2, 6, 7, 3, 2, 2, {.stride = {3, 3}}},
    {2, 1, 1, 33, 17, 1, 3, {.padding = {0, 1}}},
    {1, 1, 2, 2, 1, 2, 2, {.padding = {3, 3}}},
    {1, 1, 2, 1, 1, 5, 4, {.padding = {2, 2}}},  // a kernel larger than the image
    {0, 3, 5, 5, 2, 3, 3},
};
// Of several tiles in both directions, and panels.
const Case kLarge = {2, 8, 7, 6, 67, 3, 3, {.padding = {1, 1}}};
const Case kLarger = {2, 1, 9, 9, 131, 1, 2};

Tensor numbers(const Dims& shape, DType dtype, int64_t seed = 1) {
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  auto state = static_cast<uint64_t>(seed);
  for (double& x : v) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    x = std::ldexp(static_cast<double>(state >> 40) - 0x1p23, -22);
  }
  return tensor(v, shape, dtype);
}
Tensor whole_numbers(const Dims& shape, int64_t seed = 1) {
  std::vector<double> v = numbers(shape, float32, seed).to_vector<double>();
  for (double& x : v) x = std::floor(4 * x);
  return tensor(v, shape);
}
// A fresh copy on the device of `like`, for a kernel to add to.
Tensor start(const Dims& shape, DType dtype, const Tensor& like) {
  return to_device(numbers(shape, dtype, 9), like.device());
}
Tensor permuted(const Tensor& x, const Dims& order) {
  return x.alias(layout::permute(x.layout(), order));
}
Tensor images(const Tensor& x, int64_t begin, int64_t n) {
  return x.alias(layout::narrow(x.layout(), 0, begin, n));
}

class CudaConv : public OnExecutor {
 protected:
  CudaConv() { set_split_invariant(true); }
  ~CudaConv() override {
    set_split_invariant(false);
    force_tile(TileChoice::any);
  }
  // Both directions, into fresh memory and onto old content; `sum` is the dtype of what is added
  // to.
  void expect_case(const Case& c, DType t, DType sum) {
    SCOPED_TRACE(c.text() + name_of(t));
    const std::vector<Tensor> in = {numbers(c.x(), t), numbers(c.weights(), t, 2),
                                    numbers({c.o}, t, 3), numbers(c.y(), t, 4)};
    expect_as_on_cpu(in, [&](const std::vector<Tensor>& v) -> std::vector<Tensor> {
      const Device there = v[0].device();
      const Tensor y = empty(c.y(), t, there), y2 = start(c.y(), t, v[0]);
      kernels::conv2d(v[0], v[1], v[2], c.p, into(y));
      kernels::conv2d(v[0], v[1], {}, c.p, adding_to(y2));
      const Tensor dx = empty(c.x(), t, there), dx2 = start(c.x(), sum, v[0]);
      kernels::conv2d_grad_x(v[3], v[1], c.p, into(dx));
      kernels::conv2d_grad_x(v[3], v[1], c.p, adding_to(dx2));
      const Tensor dw = empty(c.weights(), t, there), dw2 = start(c.weights(), sum, v[0]);
      kernels::conv2d_grad_w(v[3], v[0], c.p, into(dw));
      kernels::conv2d_grad_w(v[3], v[0], c.p, adding_to(dw2));
      const Tensor db = empty({c.o}, t, there), db2 = start({c.o}, sum, v[0]);
      kernels::conv2d_grad_bias(v[3], into(db));
      kernels::conv2d_grad_bias(v[3], adding_to(db2));
      return {y, y2, dx, dx2, dw, dw2, db, db2};
    });
  }
};

TEST_F(CudaConv, EveryShapeGivesTheBitsOfTheCpu) {
  for (const Case& c : kCases) expect_case(c, float32, float32);
}

TEST_F(CudaConv, EveryDtypeGivesTheBitsOfTheCpu) {
  for (const Case& c : {kCases[3], kCases[5]}) {
    expect_case(c, float64, float64);
    for (DType t : {DType::bfloat16, DType::float16}) {
      expect_case(c, t, float32);
      expect_case(c, t, t);
    }
  }
}

TEST_F(CudaConv, EveryTileGivesTheBitsOfTheCpu) {
  for (TileChoice tile : {TileChoice::small, TileChoice::medium, TileChoice::large}) {
    SCOPED_TRACE("tile " + std::to_string(static_cast<int>(tile)));
    force_tile(tile);
    expect_case(kCases[5], float32, float32);
    expect_case(tile == TileChoice::large ? kLarger : kLarge, float32, float32);
  }
}

TEST_F(CudaConv, OperandsMayLieInMemoryAnyWay) {
  const Case c = kCases[3];
  const Dims last = {0, 3, 1, 2};
  const auto lying = [&](const Dims& shape, int64_t seed) {
    return numbers({shape[0], shape[2], shape[3], shape[1]}, float32, seed);
  };
  const std::vector<Tensor> in = {lying(c.x(), 1), lying(c.weights(), 2),
                                  numbers({2 * c.o}, float32), lying(c.y(), 4)};
  expect_as_on_cpu(in, [&](const std::vector<Tensor>& v) -> std::vector<Tensor> {
    const Tensor x = permuted(v[0], last), w = permuted(v[1], last), dy = permuted(v[3], last);
    const Tensor bias = v[2].alias(layout::slice(v[2].layout(), 0, 0, 2 * c.o, 2));
    std::vector<Tensor> results;
    const auto lying_there = [&](const Dims& shape) {
      results.push_back(start({shape[0], shape[2], shape[3], shape[1]}, float32, x));
      return permuted(results.back(), last);
    };
    kernels::conv2d(x, w, bias, c.p, into(lying_there(c.y())));
    kernels::conv2d_grad_x(dy, w, c.p, adding_to(lying_there(c.x())));
    kernels::conv2d_grad_w(dy, x, c.p, adding_to(lying_there(c.weights())));
    const Tensor db = start({2 * c.o}, float32, x);
    kernels::conv2d_grad_bias(dy,
                              adding_to(db.alias(layout::slice(db.layout(), 0, 1, 2 * c.o, 2))));
    results.push_back(db);
    return results;
  });
}

// What is outside of an image is 0 and takes part: 0 times an infinite weight is NaN there.
TEST_F(CudaConv, InfinitiesReachTheSameElementsAsOnTheCpu) {
  const Case c = kCases[3];
  std::vector<double> w = numbers(c.weights(), float32).to_vector<double>(),
                      x = numbers(c.x(), float32).to_vector<double>(),
                      dy = numbers(c.y(), float32).to_vector<double>();
  w[3] = x[20] = dy[5] = std::numeric_limits<double>::infinity();
  const std::vector<Tensor> in = {tensor(x, c.x()), tensor(w, c.weights()), tensor(dy, c.y())};
  expect_as_on_cpu(in, [&](const std::vector<Tensor>& v) -> std::vector<Tensor> {
    const Tensor y = empty_like(v[2]), dx = empty_like(v[0]), dw = empty_like(v[1]),
                 db = empty({c.o}, float32, y.device());
    kernels::conv2d(v[0], v[1], {}, c.p, into(y));
    kernels::conv2d_grad_x(v[2], v[1], c.p, into(dx));
    kernels::conv2d_grad_w(v[2], v[0], c.p, into(dw));
    kernels::conv2d_grad_bias(v[2], into(db));
    return {y, dx, dw, db};
  });
}

TEST_F(CudaConv, ASmallOneByHand) {
  const Tensor x = to_device(tensor({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 3, 3}), device);
  const Tensor w = to_device(tensor({1, 10, 100, 1000}, {1, 1, 2, 2}), device);
  const Tensor bias = to_device(tensor({.5}), device);
  const Tensor y = empty({1, 1, 2, 2}, float32, device);
  kernels::conv2d(x, w, bias, {}, into(y));
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(5421.5, 6532.5, 8754.5, 9865.5));
  const Tensor dy = to_device(tensor({1, 2, 3, 4}, {1, 1, 2, 2}), device);
  const Tensor dx = empty_like(x), dw = empty_like(w);
  const Tensor db = to_device(tensor({100}), device);
  kernels::conv2d_grad_x(dy, w, {}, into(dx));
  EXPECT_THAT(dx.to_vector<float>(), ElementsAre(1, 12, 20, 103, 1234, 2040, 300, 3400, 4000));
  kernels::conv2d_grad_w(dy, x, {}, into(dw));
  EXPECT_THAT(dw.to_vector<float>(), ElementsAre(37, 47, 67, 77));
  kernels::conv2d_grad_bias(dy, adding_to(db));
  EXPECT_EQ(db.item(), 110);
}

// Sixteen sums side by side and a tree, blocks of 2048 pixels, an odd number of planes.
TEST_F(CudaConv, TheGradientOfABiasHasTheBitsOfTheCpuForPlanesOfEverySize) {
  for (const Dims& shape :
       {Dims{1, 1, 1, 1}, Dims{3, 1, 3, 5}, Dims{1, 3, 4, 4}, Dims{5, 7, 3, 11}, Dims{1, 3, 64, 33},
        Dims{3, 1, 1, 4200}, Dims{2, 0, 3, 3}, Dims{0, 40, 2, 2}, Dims{2, 3, 0, 5}})
    for (DType t : {float32, float64, DType::bfloat16})
      expect_as_on_cpu({numbers(shape, t)},
                       [&](const std::vector<Tensor>& v) -> std::vector<Tensor> {
                         const Tensor db = empty({shape[1]}, t, v[0].device());
                         const Tensor sum = start({shape[1]}, t == float64 ? t : float32, v[0]);
                         kernels::conv2d_grad_bias(v[0], into(db));
                         kernels::conv2d_grad_bias(v[0], adding_to(sum));
                         return {db, sum};
                       });
}

// The law: a batch cut into pieces adds up to the same dw and db, and y and dx of an image do not
// depend on the others.
TEST_F(CudaConv, ABatchInPiecesGivesTheBitsOfTheWhole) {
  const Case c = {7, 3, 6, 5, 4, 3, 3, {.stride = {2, 1}, .padding = {1, 1}}};
  const Tensor x = to_device(numbers(c.x(), float32), device);
  const Tensor w = to_device(numbers(c.weights(), float32, 2), device);
  const Tensor dy = to_device(numbers(c.y(), float32, 3), device);
  const auto all = [&](const std::vector<std::pair<int64_t, int64_t>>& pieces) {
    const Tensor y = empty_like(dy), dx = empty_like(x), dw = start(c.weights(), float32, x),
                 db = start({c.o}, float32, x);
    for (const auto& [begin, n] : pieces) {
      kernels::conv2d(images(x, begin, n), w, {}, c.p, into(images(y, begin, n)));
      kernels::conv2d_grad_x(images(dy, begin, n), w, c.p, into(images(dx, begin, n)));
      kernels::conv2d_grad_w(images(dy, begin, n), images(x, begin, n), c.p, adding_to(dw));
      kernels::conv2d_grad_bias(images(dy, begin, n), adding_to(db));
    }
    std::vector<float> bits;
    for (const Tensor& r : {y, dx, dw, db}) {
      const std::vector<float> v = r.to_vector<float>();
      bits.insert(bits.end(), v.begin(), v.end());
    }
    return bits;
  };
  under_every_schedule([&] { EXPECT_EQ(all({{0, 1}, {1, 4}, {5, 2}}), all({{0, 7}})); });
}

// Whole numbers have one sum, however it is cut: here into 1, 2 and 4 pieces of 3200 pixels and
// more, the last of them shorter.
TEST_F(CudaConv, WithoutThatLawTheChainsOfAWeightAreCutIntoPieces) {
  set_split_invariant(false);
  const Case cases[] = {{1, 2, 40, 44, 3, 3, 3, {.padding = {1, 1}}},
                        {2, 2, 45, 40, 2, 2, 3, {.padding = {1, 1}, .groups = 2}},
                        {5, 1, 64, 29, 3, 2, 2, {.stride = {2, 1}}}};
  const uint64_t launches[] = {1, 2, 2};
  for (int i = 0; i < 3; ++i) {
    const Case& c = cases[i];
    SCOPED_TRACE(c.text());
    expect_as_on_cpu({whole_numbers(c.y()), whole_numbers(c.x(), 2)},
                     [&](const std::vector<Tensor>& v) -> std::vector<Tensor> {
                       const Tensor dw = empty(c.weights(), float32, v[0].device());
                       const Tensor sum = to_device(whole_numbers(c.weights(), 3), v[0].device());
                       const uint64_t before = simt::counts().launches;
                       kernels::conv2d_grad_w(v[0], v[1], c.p, into(dw));
                       if (!v[0].device().is_cpu()) {
                         synchronize(device);
                         EXPECT_EQ(simt::counts().launches - before, launches[i]);
                       }
                       kernels::conv2d_grad_w(v[0], v[1], c.p, adding_to(sum));
                       return {dw, sum};
                     });
  }
}

TEST_F(CudaConv, OtherDtypesThanTheOperandsAreRefused) {
  const Tensor x = to_device(zeros({1, 1, 2, 2}), device);
  const Tensor half = to_device(zeros({1, 1, 2, 2}, DType::float16), device);
  EXPECT_THROW(kernels::conv2d(x, half, {}, {}, into(x)), DTypeError);
  EXPECT_THROW(kernels::conv2d_grad_x(half, x, {}, into(x)), DTypeError);
  try {
    kernels::conv2d_grad_w(x, x, {}, into(half));
    FAIL() << "float16 is too narrow";
  } catch (const DTypeError& e) {
    EXPECT_STREQ(e.what(), "conv2d_grad_w: operands of float32 and float32 cannot give float16");
  }
}

// More pixels than 2³⁰ take several launches, which nobody wants to run here.
TEST(CudaConvImages, AreTakenSoManyAtOnceThatTheirPixelsAreSmallNumbers) {
  kernels::ConvShape s{};
  const auto parts = [&] {
    std::vector<std::pair<int64_t, int64_t>> all;
    kernels::cuda::for_images(s, [&](int64_t first, int64_t n) { all.emplace_back(first, n); });
    return all;
  };
  using Parts = std::vector<std::pair<int64_t, int64_t>>;
  s.images = 5;
  s.y.in = s.x.in = 3;
  s.y.out = 1 << 15;
  s.x.out = 1 << 14;
  EXPECT_EQ(parts(), (Parts{{0, 2}, {2, 2}, {4, 1}}));
  std::swap(s.y.in, s.y.out), std::swap(s.x.in, s.x.out);
  EXPECT_EQ(parts(), (Parts{{0, 2}, {2, 2}, {4, 1}}));
  s.y.in = 3;
  EXPECT_EQ(parts(), (Parts{{0, 5}}));
  s.images = 0;
  EXPECT_EQ(parts(), (Parts{{0, 0}}));
  const Tensor x = arange(60, int32).alias(layout::contiguous({5, 1, 3, 4}));
  const ConstView some = kernels::cuda::images_of(x, 2, 3);
  EXPECT_EQ(*static_cast<const int32_t*>(some.data), 24);
  EXPECT_EQ(some.shape, (Dims{3, 1, 3, 4}));
  EXPECT_EQ(kernels::cuda::images_of(adding_to(x), 2, 3).view.data, some.data);
}

TEST_F(CudaConv, AnImageOfTooManyPixelsIsRefused) {
  ConstView x = to_device(zeros({1, 1, 1, 1}), device);
  const ConstView w = x;
  x.shape = {1, 1, 1 << 16, 1 << 15};
  x.strides = {0, 0, 0, 0};
  View y = to_device(zeros({1, 1, 1, 1}), device).view();
  y.shape = x.shape;
  EXPECT_THROW(kernels::conv2d(x, w, {}, {}, Dest(y, Write::overwrite)), ShapeError);
}

}  // namespace
}  // namespace accrue::testing
