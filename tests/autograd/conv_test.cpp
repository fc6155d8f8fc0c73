// Convolution against a loop over its definition in float64, against finite differences, and the
// laws of its sums.
#include "tests/autograd/numeric.h"
#include <gmock/gmock.h>

#include <accrue/core/layout.h>

#include <accrue/kernels/cpu/parallel.h>

#include <accrue/autograd/ops/conv.h>

namespace {

using namespace accrue;
using namespace accrue::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  int64_t n, c, h, w, o, kh, kw;
  Conv2dOptions options = {};
  bool bias = true;

  Dims x_shape() const { return {n, c, h, w}; }
  Dims w_shape() const { return {o, c / options.groups, kh, kw}; }
  std::string text() const {
    return detail::concat("n ", n, " c ", c, " h ", h, " w ", w, " o ", o, " kh ", kh, " kw ", kw,
                          " stride ", options.stride[0], ",", options.stride[1], " padding ",
                          options.padding[0], ",", options.padding[1], " dilation ",
                          options.dilation[0], ",", options.dilation[1], " groups ",
                          options.groups);
  }
};

const Case kCases[] = {
    {2, 3, 5, 6, 4, 3, 3},
    {1, 1, 4, 4, 1, 1, 1},
    {2, 2, 7, 5, 3, 3, 2, {.stride = {2, 3}, .padding = {1, 2}}},
    {1, 2, 9, 8, 2, 3, 3, {.padding = {2, 2}, .dilation = {2, 3}}},
    {2, 4, 6, 6, 6, 3, 3, {.stride = {2, 2}, .padding = {1, 1}, .dilation = {2, 1}, .groups = 2}},
    {2, 3, 5, 5, 3, 3, 3, {.padding = {1, 1}, .groups = 3}},
    {1, 1, 3, 3, 2, 1, 1, {.stride = {2, 2}}, false},
    {1, 2, 6, 7, 3, 2, 2, {.stride = {3, 3}}},
    {2, 1, 1, 20, 17, 1, 3, {.padding = {0, 1}}},
    {1, 1, 2, 2, 1, 2, 2, {.padding = {3, 3}}, false},
    {1, 2, 20, 3, 2, 3, 3, {.padding = {1, 1}}},
};
// Shapes whose sizes fill and overrun registers, vectors and blocks.
const Case kLargeCases[] = {
    {3, 1, 28, 28, 16, 5, 5, {.padding = {2, 2}}},
    {2, 16, 14, 14, 32, 5, 5, {.padding = {2, 2}}},
    {40, 7, 13, 17, 15, 3, 3, {.stride = {1, 2}, .padding = {1, 1}}},
    {3, 4, 33, 40, 33, 2, 3, {.dilation = {1, 2}, .groups = 1}},
    {2, 30, 7, 7, 29, 3, 3, {.padding = {1, 1}}},
    {1, 3, 70, 200, 5, 3, 3, {.stride = {2, 2}}},
};

// y, dx, dw, dbias by the definition.
struct Reference {
  std::vector<double> y, dx, dw, db;
};

template <class Body>
void each_product(const Case& p, int64_t oh, int64_t ow, const Body& body) {
  const int64_t og = p.o / p.options.groups, cg = p.c / p.options.groups;
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t o = 0; o < p.o; ++o)
      for (int64_t i = 0; i < oh; ++i)
        for (int64_t j = 0; j < ow; ++j)
          for (int64_t c = 0; c < cg; ++c)
            for (int64_t a = 0; a < p.kh; ++a)
              for (int64_t b = 0; b < p.kw; ++b) {
                const int64_t y =
                    i * p.options.stride[0] - p.options.padding[0] + a * p.options.dilation[0];
                const int64_t x =
                    j * p.options.stride[1] - p.options.padding[1] + b * p.options.dilation[1];
                if (y < 0 || y >= p.h || x < 0 || x >= p.w) continue;
                body(((n * p.o + o) * oh + i) * ow + j,
                     ((n * p.c + o / og * cg + c) * p.h + y) * p.w + x,
                     ((o * cg + c) * p.kh + a) * p.kw + b);
              }
}

Reference reference(const Case& p, const Tensor& x, const Tensor& w, const Tensor& bias,
                    const Tensor& dy) {
  const int64_t oh = dy.size(2), ow = dy.size(3);
  const std::vector<double> xs = values(x), ws = values(w), bs = values(bias), ds = values(dy);
  Reference r{std::vector<double>(ds.size()), std::vector<double>(xs.size()),
              std::vector<double>(ws.size()), std::vector<double>(bs.size())};
  for (size_t i = 0; i < ds.size(); ++i) {
    const size_t o = i / static_cast<size_t>(oh * ow) % bs.size();
    if (p.bias) r.y[i] = bs[o];
    r.db[o] += ds[i];
  }
  each_product(p, oh, ow, [&](int64_t y, int64_t at, int64_t k) {
    const auto yi = static_cast<size_t>(y), xi = static_cast<size_t>(at),
               wi = static_cast<size_t>(k);
    r.y[yi] += xs[xi] * ws[wi];
    r.dx[xi] += ds[yi] * ws[wi];
    r.dw[wi] += ds[yi] * xs[xi];
  });
  return r;
}

Function conv_of(const Case& p) {
  return [p](const std::vector<Tensor>& in) {
    return conv2d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), p.options);
  };
}
std::vector<Tensor> inputs_of(const Case& p, DType dtype,
                              Tensor (*make)(const Dims&, uint32_t, DType)) {
  std::vector<Tensor> in = {make(p.x_shape(), 1, dtype), make(p.w_shape(), 2, dtype)};
  if (p.bias) in.push_back(make({p.o}, 3, dtype));
  return in;
}
Tensor whole_numbers(const Dims& shape, uint32_t seed, DType dtype) {
  return whole(shape, seed, dtype);
}

void check_against_reference(const Case& p, DType dtype, double relative, double absolute) {
  const std::vector<Tensor> in = inputs_of(p, dtype, &random);
  const Tensor y = conv_of(p)(in);
  const Tensor dy = random(y.shape(), 4, dtype);
  const std::vector<Tensor> got = gradients(conv_of(p), in, dy);
  const Reference right = reference(p, in[0], in[1], p.bias ? in[2] : zeros({p.o}, dtype), dy);
  expect_close(values(y), right.y, relative, absolute, "y of " + p.text());
  expect_close(values(got[0]), right.dx, relative, absolute, "dx of " + p.text());
  expect_close(values(got[1]), right.dw, relative, absolute, "dw of " + p.text());
  if (p.bias) expect_close(values(got[2]), right.db, relative, absolute, "dbias of " + p.text());
}

class Threads {
 public:
  explicit Threads(int n) : before_(get_num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

TEST(Conv, IsItsDefinition) {
  for (const Case& p : kCases) {
    check_against_reference(p, DType::float64, 1e-12, 1e-12);
    check_against_reference(p, DType::float32, 1e-4, 1e-5);
  }
  for (const Case& p : kLargeCases) {
    check_against_reference(p, DType::float64, 1e-11, 1e-11);
    check_against_reference(p, DType::float32, 1e-3, 1e-3);
  }
}

TEST(Conv, GradientsAreDifferenceQuotients) {
  for (const Case& p : kCases) {
    check_gradients(conv_of(p), inputs_of(p, DType::float64, &random), p.text());
  }
}

TEST(Conv, GradientsAddToWhatIsThereAndSkipTheUnwanted) {
  for (const Case& p : kCases) {
    check_arrivals(conv_of(p), inputs_of(p, DType::float64, &whole_numbers));
    check_arrivals(conv_of(p), inputs_of(p, DType::float32, &whole_numbers));
  }
}

TEST(Conv, SixteenBitsAreComputedInFloatAndRoundedOnce) {
  const Case p{2, 3, 9, 20, 5, 3, 3, {.padding = {1, 1}}};
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const std::vector<Tensor> in = inputs_of(p, dtype, &whole_numbers);
    const std::vector<Tensor> same = inputs_of(p, DType::float32, &whole_numbers);
    const Tensor y = conv_of(p)(in), c = whole(y.shape(), 5, dtype, 1);
    EXPECT_EQ(values(y),
              values(tensor(std::span<const double>(values(conv_of(p)(same))), y.shape(), dtype)));
    const std::vector<Tensor> got = gradients(conv_of(p), in, c);
    const std::vector<Tensor> right = gradients(conv_of(p), same, whole(y.shape(), 5, float32, 1));
    for (size_t i = 0; i < 3; ++i) expect_same(got[i], right[i]);  // leaves add in float32
  }
}

TEST(Conv, ReadsAnyStrides) {
  const Case p{2, 3, 8, 9, 4, 3, 2, {.stride = {2, 1}, .padding = {1, 1}}};
  const std::vector<Tensor> in = inputs_of(p, DType::float32, &random);
  const Tensor y = conv_of(p)(in), dy = random(y.shape(), 4, DType::float32);
  const auto strided = [](const Tensor& x) {  // the same values, last dimension slowest
    Dims order = Dims::filled(x.dim(), 0), turned = x.shape();
    for (int d = 0; d < x.dim(); ++d) order[d] = (d + 1) % x.dim();
    const Layout forth = layout::permute(layout::contiguous(x.shape()), order);
    const std::vector<double> flat = values(x.alias(forth));
    Tensor t = tensor(std::span<const double>(flat), forth.shape, x.dtype());
    for (int d = 0; d < x.dim(); ++d) turned[(d + 1) % x.dim()] = d;
    return t.alias(layout::permute(t.layout(), turned));
  };
  const std::vector<Tensor> other = {strided(in[0]), strided(in[1]), in[2]};
  EXPECT_FALSE(other[0].is_contiguous());
  expect_same(conv_of(p)(other), y);
  const std::vector<Tensor> right = gradients(conv_of(p), in, dy);
  const std::vector<Tensor> got = gradients(conv_of(p), other, strided(dy));
  expect_close(values(got[0]), values(right[0]), 0, 0);
  expect_close(values(got[1]), values(right[1]), 0, 0);
  expect_close(values(got[2]), values(right[2]), 1e-5, 1e-6);
}

TEST(Conv, ThreadsDoNotShow) {
  for (const Case& p : kLargeCases) {
    const std::vector<Tensor> in = inputs_of(p, DType::float32, &random);
    Tensor y, dy;
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 3}) {
      const Threads use(threads);
      const Tensor now = conv_of(p)(in);
      if (!y.defined()) y = now, dy = random(y.shape(), 4, DType::float32);
      expect_same(now, y, p.text());
      const std::vector<Tensor> got = gradients(conv_of(p), in, dy);
      if (first.empty()) first = got;
      for (size_t i = 0; i < got.size(); ++i) expect_same(got[i], first[i], p.text());
    }
  }
}

// One batch and its pieces, which add up in `.grad`, give the same bits.
TEST(Conv, ABatchIsTheSumOfItsPieces) {
  for (Case p : {kLargeCases[0], kLargeCases[2], kLargeCases[4]}) {
    p.n = 24;
    const std::vector<Tensor> in = inputs_of(p, DType::float32, &random);
    const Tensor y = conv_of(p)(in), dy = random(y.shape(), 4, DType::float32);
    const std::vector<Tensor> whole_batch = gradients(conv_of(p), in, dy);
    for (const std::vector<int64_t>& pieces :
         std::vector<std::vector<int64_t>>{{12, 12}, {8, 8, 8}, {1, 2, 21}, {5, 17, 1, 1}}) {
      Tensor w = in[1].alias(in[1].layout()).set_requires_grad();
      Tensor bias = in[2].alias(in[2].layout()).set_requires_grad();
      int64_t at = 0;
      for (const int64_t n : pieces) {
        const auto piece = [&](const Tensor& t) {
          return t.alias(layout::narrow(t.layout(), 0, at, n));
        };
        Tensor x = piece(in[0]).set_requires_grad();
        const Tensor part = conv2d(x, w, bias, p.options);
        expect_same(part, piece(y), p.text());
        part.backward({.gradient = piece(dy)});
        expect_same(x.grad(), piece(whole_batch[0]), p.text());
        at += n;
      }
      expect_same(w.grad(), whole_batch[1], p.text());
      expect_same(bias.grad(), whole_batch[2], p.text());
    }
  }
}

TEST(Conv, AnEmptyBatchGivesZeroGradients) {
  Tensor x = zeros({0, 2, 5, 5}).set_requires_grad();
  Tensor w = ones({3, 2, 3, 3}).set_requires_grad();
  Tensor bias = ones({3}).set_requires_grad();
  const Tensor y = conv2d(x, w, bias);
  EXPECT_EQ(y.shape(), (Dims{0, 3, 3, 3}));
  y.backward({.gradient = zeros({0, 3, 3, 3})});
  EXPECT_EQ(x.grad().shape(), (Dims{0, 2, 5, 5}));
  expect_same(w.grad(), zeros({3, 2, 3, 3}));
  expect_same(bias.grad(), zeros({3}));
}

TEST(Conv, OneImageNeedsNoBatch) {
  const Tensor x = random({2, 6, 5}, 1), w = random({3, 2, 3, 3}, 2), b = random({3}, 3);
  const Tensor y = conv2d(x, w, b, {.padding = {1, 1}});
  EXPECT_EQ(y.shape(), (Dims{3, 6, 5}));
  expect_same(y, conv2d(x.alias(layout::unsqueeze(x.layout(), 0)), w, b, {.padding = {1, 1}})
                     .alias(y.layout()));
  check_gradients([](const std::vector<Tensor>& in) { return conv2d(in[0], in[1], in[2]); },
                  {x, w, b});
}

TEST(Conv, OneDimension) {
  check_gradients(
      [](const std::vector<Tensor>& in) {
        return conv1d(in[0], in[1], in[2], {.stride = 2, .padding = 1, .dilation = 2, .groups = 2});
      },
      {random({2, 4, 9}, 1), random({6, 2, 3}, 2), random({6}, 3)});
}

// pytorch/pytorch #9592: a stride hid that the kernel does not fit.
TEST(Conv, case_CN_01) {
  const Tensor x = zeros({1, 1, 4, 4}), w = zeros({1, 1, 3, 3});
  for (const int64_t stride : {1, 2}) {
    const std::string text = message_of<ShapeError>([&] {
      conv2d(x, w, {}, {.stride = {stride, stride}, .dilation = {2, 2}});
    });
    EXPECT_THAT(text, HasSubstr("conv2d: the kernel is larger than the input"));
    EXPECT_THAT(text, HasSubstr("effective height is 5"));
    EXPECT_THAT(text, HasSubstr("the padded input's is 4"));
  }
  EXPECT_THAT(message_of<ShapeError>([&] {
                conv1d(zeros({1, 1, 2}), zeros({1, 1, 3}));
              }),
              HasSubstr("effective length is 3 (kernel 3, dilation 1), the padded input's is 2"));
}

// pytorch/pytorch #15501: padding, stride and dilation together.
TEST(Conv, case_CN_02) {
  Tensor a = tensor({7, 3, 3, 2}, {2, 1, 2}).set_requires_grad();
  Tensor w = tensor({3, 6, 4, 2}, {2, 1, 2}).set_requires_grad();
  const Tensor y = conv1d(a, w, {}, {.stride = 2, .padding = 1, .dilation = 2});
  EXPECT_EQ(y.shape(), (Dims{2, 2, 1}));
  EXPECT_THAT(values(y), ElementsAre(18, 6, 12, 4));
  y.backward({.gradient = ones(y.shape())});
  EXPECT_THAT(values(a.grad()), ElementsAre(0, 8, 0, 8));
  EXPECT_THAT(values(w.grad()), ElementsAre(0, 5, 0, 5));
}

// f-dangel/backpack #30: what the stride leaves over at the end.
TEST(Conv, case_CN_03) {
  Tensor x = tensor({1, 2, 3, 4, 5, 6}, {1, 1, 6}).set_requires_grad();
  Tensor w = tensor({1, 10, 100}, {1, 1, 3}).set_requires_grad();
  const Tensor y = conv1d(x, w, {}, {.stride = 2});
  EXPECT_THAT(values(y), ElementsAre(321, 543));
  y.backward({.gradient = tensor({1, 2}, {1, 1, 2})});
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 10, 102, 20, 200, 0));
  EXPECT_THAT(values(w.grad()), ElementsAre(7, 10, 13));
}

// tinygrad/tinygrad PR #14115: five mistakes, five messages.
TEST(Conv, case_CN_05) {
  const Tensor x = zeros({1, 3, 4, 4}), w = zeros({3, 3, 2, 2});
  const auto text = [&](const Conv2dOptions& options) {
    return message_of<Error>([&] { conv2d(x, w, {}, options); });
  };
  EXPECT_EQ(text({.dilation = {1, 0}}), "conv2d: the dilation is 0; it must be at least 1");
  EXPECT_EQ(text({.stride = {0, 1}}), "conv2d: the stride is 0; it must be at least 1");
  EXPECT_EQ(text({.groups = 0}), "conv2d: groups is 0; it must be at least 1");
  EXPECT_EQ(text({.padding = {-1, 0}}), "conv2d: the padding is -1; it must not be negative");
  const int64_t huge = int64_t{1} << 62;  // twice it is no int64
  EXPECT_EQ(text({.padding = {huge, 0}}),
            "conv2d: the padding is 4611686018427387904; it must be below 2^31");
  EXPECT_THAT(text({.stride = {huge, 1}}), HasSubstr("it must be below 2^31"));
  EXPECT_THAT(text({.dilation = {1, huge}}), HasSubstr("it must be below 2^31"));
  const int64_t most = (int64_t{1} << 31) - 1;
  EXPECT_THAT(message_of<ShapeError>([&] {
                conv2d(zeros({1, 1, 4, 4}), zeros({1, 1, 3, 3}), {},
                       {.stride = {most, most}, .padding = {most, most}});
              }),
              HasSubstr("conv2d: the padded input is too large"));
  EXPECT_EQ(text({.groups = 2}),
            "conv2d: 2 groups do not divide 3 input and 3 output channels evenly; both must be "
            "multiples");
}

// meta-pytorch/opacus PR #245: groups with padding.
TEST(Conv, case_CN_07) {
  Tensor x = tensor({1, 2, 3, 4}, {1, 2, 2}).set_requires_grad();
  Tensor w = tensor({1, 1, 2, -1}, {2, 1, 2}).set_requires_grad();
  const Tensor y = conv1d(x, w, {}, {.padding = 1, .groups = 2});
  EXPECT_THAT(values(y), ElementsAre(1, 3, 2, -3, 2, 8));
  y.backward({.gradient = ones(y.shape())});
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(values(w.grad()), ElementsAre(3, 3, 7, 7));
}

TEST(Conv, SaysWhatDoesNotFit) {
  const Tensor x = zeros({1, 3, 4, 4});
  EXPECT_EQ(message_of<ShapeError>([&] {
              conv2d(x, zeros({2, 4, 3, 3}));
            }),
            "conv2d: x has 3 channels in 1 groups, but w takes 4 a group: x is [1, 3, 4, 4], w is "
            "[2, 4, 3, 3]; dimension 1 of w must be channels / groups");
  EXPECT_EQ(message_of<ShapeError>([&] {
              conv2d(zeros({4, 4}), zeros({2, 4, 3, 3}));
            }),
            "conv2d: x has shape [4, 4]; it must be [batch, channels, height, width] or [channels, "
            "height, width]");
  EXPECT_EQ(message_of<ShapeError>([&] {
              conv2d(x, zeros({2, 3, 3, 3}), zeros({3}));
            }),
            "conv2d: bias has shape [3]; it must be [2], one for each output channel");
  EXPECT_EQ(message_of<DTypeError>([&] {
              conv2d(x, zeros({2, 3, 3, 3}, float64));
            }),
            "conv2d: x is float32, w is float64; cast one of them");
}

}  // namespace
