// Random cases of the sums of products: matmul, linear, convolution, pooling and attention.
// Read next: random_views.cpp, which computes nothing and moves everything.
#include <array>

#include "tests/ops/random_chapters.h"
#include "tests/ops/references.h"

#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

using namespace table;

// ---- products ----

int64_t size_of_product(Random& r) {
  return r.one_in(12) ? r.of<int64_t>({64, 70, 130}) : r.of<int64_t>({1, 2, 3, 5, 7, 17, 33});
}

OpCase matmul_case(Random& r) {
  const int64_t m = size_of_product(r), k = r.one_in(20) ? 0 : size_of_product(r),
                n = size_of_product(r);
  const Dims batch = r.shape(0, 2, 12);
  Dims a = joined(r.stretching_to(batch), {m, k}), b = joined(r.stretching_to(batch), {k, n});
  if (r.one_in(8)) a = {k};
  if (r.one_in(8)) b = {k};
  return made(
      concat("matmul ", a, b), {shared(a), shared(b)},
      [](V v) { return accrue::matmul(v[0], v[1]); }, table::matmul, Tolerance::sum, kAnyChain);
}

/// Activation::gelu is gelu() after linear(), which rounds in between.
OpCase linear_case(Random& r) {
  const Activation f =
      r.of({Activation::none, Activation::none, Activation::relu, Activation::gelu_tanh});
  // gelu_tanh below -10 is so small that 16-bit numbers have fewer digits for it.
  const bool small = f == Activation::gelu_tanh;
  const Kind kind = small ? Kind::unit : Kind::plain;
  const int64_t k = r.one_in(20) ? 0 : std::min<int64_t>(size_of_product(r), small ? 33 : 130);
  const int64_t n = size_of_product(r);
  const Dims batch = r.shape(0, 3, 60);
  std::vector<Input> inputs = {shared(joined(batch, {k}), kind), shared({n, k}, kind)};
  if (r.one_in(2)) inputs.push_back(shared({n}, kind));
  return made(
      concat("linear ", inputs[0].shape, " to ", n, inputs.size() > 2 ? " with bias" : "",
             f == Activation::relu        ? ", relu"
             : f == Activation::gelu_tanh ? ", gelu_tanh"
                                          : ""),
      inputs, [f](V v) { return accrue::linear(v[0], v[1], v.size() > 2 ? v[2] : Tensor(), f); },
      [f](const Arrays& v) {
        const Array z = table::linear(v);
        return f == Activation::relu        ? each([](double a) { return a > 0 ? a : 0; })({z})
               : f == Activation::gelu_tanh ? each(gelu_tanh)({z})
                                            : z;
      },
      Tolerance::sum, f == Activation::gelu_tanh ? kAnyFractions : kAnyChain);
}

// ---- images ----

std::array<int64_t, 2> two(Random& r, int64_t low, int64_t high) {
  const int64_t first = r.whole(low, high);
  return {first, r.whole(low, high)};
}

Dims dims(const std::array<int64_t, 2>& v) { return {v[0], v[1]}; }
std::string text_of(const Window& p) {
  return concat(" stride ", dims(p.stride), " padding ", dims(p.padding), " dilation ",
                dims(p.dilation), p.ceil_mode ? " ceil" : "");
}

/// `reference` on the inputs with a dimension of size 1 at `d` in the first `n` of them.
OpReference with_dimension(const OpReference& reference, size_t n, int d) {
  return [=](const Arrays& v) {
    Arrays in = v;
    for (size_t i = 0; i < n; ++i) in[i].shape.insert(d, 1);
    Array y = reference(in);
    y.shape.erase(d);
    return y;
  };
}

OpCase conv2d_case(Random& r) {
  const int64_t groups = r.whole(1, 2), in = groups * r.whole(1, 2), out = groups * r.whole(1, 3);
  const Window p{
      .stride = two(r, 1, 2), .padding = two(r, 0, 2), .dilation = two(r, 1, 2), .groups = groups};
  const bool one_image = r.one_in(4);
  const Dims image{in, r.whole(5, 9), r.whole(5, 9)};
  const Dims x = one_image ? image : joined({r.whole(1, 2)}, image);
  std::vector<Input> inputs = {shared(x), shared({out, in / groups, r.whole(1, 3), r.whole(1, 3)})};
  if (r.one_in(2)) inputs.push_back(shared({out}));
  return made(
      concat("conv2d ", x, inputs[1].shape, text_of(p), " groups ", groups,
             inputs.size() > 2 ? " bias" : ""),
      inputs,
      [p](V v) {
        return accrue::conv2d(
            v[0], v[1], v.size() > 2 ? v[2] : Tensor(),
            {.stride = p.stride, .padding = p.padding, .dilation = p.dilation, .groups = p.groups});
      },
      one_image ? with_dimension(table::conv2d(p), 1, 0) : table::conv2d(p), Tolerance::sum,
      kAnyChain);
}

OpCase conv1d_case(Random& r) {
  const int64_t groups = r.whole(1, 2), in = groups * r.whole(1, 2), out = groups * r.whole(1, 3);
  const Window p{.stride = {1, r.whole(1, 3)},
                 .padding = {0, r.whole(0, 2)},
                 .dilation = {1, r.whole(1, 2)},
                 .groups = groups};
  std::vector<Input> inputs = {shared({r.whole(1, 3), in, r.whole(5, 17)}),
                               shared({out, in / groups, r.whole(1, 3)})};
  if (r.one_in(2)) inputs.push_back(shared({out}));
  return made(
      concat("conv1d ", inputs[0].shape, inputs[1].shape, text_of(p), " groups ", groups,
             inputs.size() > 2 ? " bias" : ""),
      inputs,
      [p](V v) {
        return accrue::conv1d(v[0], v[1], v.size() > 2 ? v[2] : Tensor(),
                              {.stride = p.stride[1],
                               .padding = p.padding[1],
                               .dilation = p.dilation[1],
                               .groups = p.groups});
      },
      with_dimension(table::conv2d(p), 2, 2), Tolerance::sum, kAnyChain);
}

Window pool_window(Random& r, bool dilated) {
  Window p{.kernel = two(r, 1, 3), .stride = two(r, 1, 3), .ceil_mode = r.one_in(2)};
  p.padding = {r.whole(0, p.kernel[0] / 2), r.whole(0, p.kernel[1] / 2)};
  if (dilated) p.dilation = two(r, 1, 2);
  return p;
}

OpCase max_pool2d_case(Random& r) {
  const Window p = pool_window(r, true);
  const Dims x{r.whole(1, 2), r.whole(1, 2), r.whole(5, 9), r.whole(5, 9)};
  return made(
      concat("max_pool2d ", x, " kernel ", dims(p.kernel), text_of(p)), {shared(x, Kind::distinct)},
      [p](V v) {
        return accrue::max_pool2d(v[0], {.kernel = p.kernel,
                                         .stride = p.stride,
                                         .padding = p.padding,
                                         .dilation = p.dilation,
                                         .ceil_mode = p.ceil_mode});
      },
      table::max_pool2d(p), Tolerance::exact, kAnyChain);
}

OpCase avg_pool2d_case(Random& r) {
  const Window p = pool_window(r, false);
  const Dims x{r.whole(1, 2), r.whole(1, 2), r.whole(5, 9), r.whole(5, 9)};
  const bool padding_counts = r.one_in(2);
  const int64_t divisor = r.one_in(4) ? r.whole(1, 5) : 0;
  return made(
      concat("avg_pool2d ", x, " kernel ", dims(p.kernel), text_of(p),
             padding_counts ? "" : " without padding", " divisor ", divisor),
      {shared(x)},
      [=](V v) {
        return accrue::avg_pool2d(v[0], {.kernel = p.kernel,
                                         .stride = p.stride,
                                         .padding = p.padding,
                                         .ceil_mode = p.ceil_mode,
                                         .count_include_pad = padding_counts,
                                         .divisor_override = divisor});
      },
      table::avg_pool2d(p, divisor > 0      ? static_cast<double>(divisor)
                           : padding_counts ? 0
                                            : -1),
      Tolerance::sum, kAnyFractions);
}

// ---- attention ----

/// Perhaps a mask that stretches to the scores, as the last input; its name.
std::string add_mask(Random& r, const Dims& scores, bool boolean, std::vector<Input>& inputs) {
  if (r.one_in(2)) return "";
  const Dims mask = r.stretching_to(scores);
  inputs.push_back(boolean ? booleans(mask, -1) : constant(shared(mask)));
  return concat(boolean ? " bool" : " float", " mask ", mask);
}

Attention attention_options(Random& r) {
  const bool causal = r.one_in(2), boolean = r.one_in(2);
  return {.causal = causal, .boolean_mask = boolean, .scale = r.of({0.0, 0.0, 0.25, 1.0})};
}

std::string text_of(const Attention& p) {
  return concat(p.causal ? " causal" : "", " scale ", p.scale);
}

OpCase attention_case(Random& r) {
  const Dims batch = r.shape(0, 2, 6);
  const int64_t queries = r.whole(1, 9), keys = r.whole(1, 9), width = r.whole(1, 9),
                value_width = r.whole(1, 9);
  const Attention p = attention_options(r);
  std::vector<Input> inputs = {shared(joined(batch, {queries, width})),
                               shared(joined(batch, {keys, width})),
                               shared(joined(batch, {keys, value_width}))};
  std::string name = concat("scaled_dot_product_attention ", inputs[0].shape, inputs[1].shape,
                            inputs[2].shape, text_of(p));
  name += add_mask(r, joined(batch, {queries, keys}), p.boolean_mask, inputs);
  return made(
      name, inputs,
      [p](V v) {
        return scaled_dot_product_attention(
            v[0], v[1], v[2],
            {.mask = v.size() > 3 ? v[3] : Tensor(), .is_causal = p.causal, .scale = p.scale});
      },
      attention(p), Tolerance::sum, kAnyFractions);
}

OpCase packed_attention_case(Random& r) {
  const int64_t batch = r.whole(1, 3), time = r.whole(1, 9), heads = r.whole(1, 3),
                width = r.whole(1, 5), all = heads * width;
  const Attention p = attention_options(r);
  std::vector<Input> inputs = {shared({batch, time, 3 * all})};
  std::string name =
      concat("packed_attention ", inputs[0].shape, " of ", heads, " heads", text_of(p));
  name += add_mask(r, {batch, heads, time, time}, p.boolean_mask, inputs);
  return made(
      name, inputs,
      [=](V v) {
        return packed_attention(
            v[0], heads,
            {.mask = v.size() > 1 ? v[1] : Tensor(), .is_causal = p.causal, .scale = p.scale});
      },
      [=](const Arrays& v) {
        Arrays in;
        for (int64_t which = 0; which < 3; ++which)  // [batch, head, time, e] of q, k and v
          in.push_back(build({batch, heads, time, width}, [&](const Dims& i) {
            return v[0]({i[0], i[2], which * all + width * i[1] + i[3]});
          }));
        if (v.size() > 1) in.push_back(v[1]);
        const Array y = attention(p)(in);
        return build({batch, time, all}, [&](const Dims& i) {
          return y({i[0], i[2] / width, i[1], i[2] % width});
        });
      },
      Tolerance::sum, kAnyFractions);
}

}  // namespace

void add_products(const OpAdder& has) {
  has("matmul", matmul_case);
  has("linear", linear_case);
  has("conv2d", conv2d_case);
  has("conv1d", conv1d_case);
  has("max_pool2d", max_pool2d_case);
  has("avg_pool2d", avg_pool2d_case);
  has("scaled_dot_product_attention", attention_case);
  has("packed_attention", packed_attention_case);
}

}  // namespace accrue::testing
