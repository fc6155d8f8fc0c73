// Operators on random shapes, dimensions and options, through the laws of laws.h.
//
// Each case comes from one seed, which a failure prints. ACCRUE_SEED=n runs that case alone;
// ACCRUE_PROPERTY_CASES=n makes that many of each family.
#include <cstdlib>
#include <random>
#include <sstream>

#include "tests/ops/laws.h"
#include "tests/ops/references.h"

#include <accrue/core/factories.h>

#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

using namespace table;

class Random {
 public:
  explicit Random(uint32_t seed) : bits_(seed) {}
  int64_t whole(int64_t low, int64_t high) {  // both included
    return std::uniform_int_distribution<int64_t>(low, high)(bits_);
  }
  bool one_in(int64_t n) { return whole(1, n) == 1; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return all.begin()[whole(0, static_cast<int64_t>(all.size()) - 1)];
  }
  /// Sizes whose product is at most `most`; some are 0 if `nothing` may be.
  Dims shape(int least_rank, int most_rank, int64_t most, bool nothing = false) {
    const auto rank = whole(least_rank, most_rank);
    Dims out;
    for (int64_t d = 0, product = 1; d < rank; ++d) {
      auto n = of<int64_t>({1, 1, 2, 2, 3, 3, 4, 5, 7, 17, 33, 64, 1031});
      if (product * n > most) n = 1;
      product *= n;
      out.push_back(nothing && one_in(25) ? 0 : n);
    }
    return out;
  }
  /// A shape that stretches to `full`.
  Dims stretching_to(const Dims& full) {
    Dims out;
    for (int d = static_cast<int>(one_in(2) ? whole(0, full.size()) : 0); d < full.size(); ++d)
      out.push_back(one_in(3) ? 1 : full[d]);
    return out;
  }
  int dim(const Dims& shape) { return static_cast<int>(whole(0, shape.size() - 1)); }

 private:
  std::mt19937 bits_;
};

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

const OpTraits kAnyChain{.adds = Adds::chained}, kAnyFractions{.adds = Adds::chained_fractions};

// ---- families ----

OpCase broadcasts(Random& r) {
  struct Op {
    const char* name;
    Tensor (*f)(const Tensor&, const Tensor&);
    double (*right)(double, double);
    Kind right_kind = Kind::plain;
    bool fractions = false;
  };
  const Op op = r.of<Op>({
      {"add", add, [](double a, double b) { return a + b; }},
      {"sub", sub, [](double a, double b) { return a - b; }},
      {"mul", mul, [](double a, double b) { return a * b; }},
      {"div", div, [](double a, double b) { return a / b; }, Kind::positive, true},
      {"maximum", maximum, [](double a, double b) { return a > b ? a : b; }},
      {"minimum", minimum, [](double a, double b) { return a < b ? a : b; }},
  });
  const Dims full = r.shape(0, 5, 600, true);
  const Dims a = r.stretching_to(full), b = r.stretching_to(full);
  return {text(op.name, " ", a, b),
          {shared(a), shared(b, op.right_kind)},
          [op](const Tensors& v) { return op.f(v[0], v[1]); },
          each(op.right),
          Tolerance::rounded,
          {},
          op.fractions ? kAnyFractions : kAnyChain};
}

OpCase unaries(Random& r) {
  struct Op {
    const char* name;
    Tensor (*f)(const Tensor&);
    double (*right)(double);
    Kind kind = Kind::plain;
  };
  const Op op = r.of<Op>({
      {"exp", exp, [](double a) { return std::exp(a); }},
      {"log", log, [](double a) { return std::log(a); }, Kind::positive},
      {"sqrt", sqrt, [](double a) { return std::sqrt(a); }, Kind::positive},
      {"tanh", tanh, [](double a) { return std::tanh(a); }},
      {"sigmoid", accrue::sigmoid, table::sigmoid},
      {"relu", relu, [](double a) { return a > 0 ? a : 0; }},
      {"sin", sin, [](double a) { return std::sin(a); }},
      {"abs", abs, [](double a) { return std::fabs(a); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }, table::gelu},
      {"silu", silu, [](double a) { return a * table::sigmoid(a); }},
  });
  const Dims shape = r.shape(0, 6, 1500, true);
  return {text(op.name, " ", shape),
          {shared(shape, op.kind)},
          [op](const Tensors& v) { return op.f(v[0]); },
          each(op.right),
          Tolerance::transcendental};
}

OpCase choices(Random& r) {
  const Dims full = r.shape(0, 4, 400, true);
  const Dims c = r.stretching_to(full), a = r.stretching_to(full), b = r.stretching_to(full);
  return {text("where ", c, a, b),
          {booleans(c, -1), shared(a), shared(b)},
          [](const Tensors& v) { return where(v[0], v[1], v[2]); },
          each([](double which, double x, double y) { return which != 0 ? x : y; }),
          Tolerance::exact,
          {},
          kAnyChain};
}

OpCase reductions(Random& r) {
  const Dims shape = r.shape(1, 5, 1500);
  Dims dims;
  for (int d = 0; d < shape.size(); ++d)
    if (r.one_in(2)) dims.push_back(r.one_in(3) ? d - shape.size() : d);
  const KeepDim keep = r.one_in(2) ? KeepDim::yes : KeepDim::no;
  struct Op {
    const char* name;
    Tensor (*f)(const Tensor&, const Dims&, KeepDim);
    Fold right;
    Kind kind;
    Tolerance tolerance;
  };
  const Op op = r.of<Op>({
      {"sum", sum, total, Kind::plain, Tolerance::sum},
      {"mean", mean, average, Kind::plain, Tolerance::sum},
      {"amax", amax, largest, Kind::distinct, Tolerance::exact},
      {"amin", amin, smallest, Kind::distinct, Tolerance::exact},
  });
  return {text(op.name, " ", shape, " over ", dims, keep == KeepDim::yes ? ", kept" : ""),
          {shared(shape, op.kind)},
          [=](const Tensors& v) { return op.f(v[0], dims, keep); },
          reduced(op.right, dims, keep == KeepDim::yes),
          op.tolerance,
          {},
          kAnyFractions};
}

OpCase rows(Random& r) {
  const Dims shape = r.shape(1, 4, 800);
  const int d = r.dim(shape);
  switch (r.whole(0, 3)) {
    case 0:
      return {text("softmax ", shape, " along ", d),
              {shared(shape)},
              [d](const Tensors& v) { return accrue::softmax(v[0], d); },
              [d](const Arrays& v) { return table::softmax(v[0], d); },
              Tolerance::sum};
    case 1:
      return {text("log_softmax ", shape, " along ", d),
              {shared(shape)},
              [d](const Tensors& v) { return accrue::log_softmax(v[0], d); },
              [d](const Arrays& v) { return table::log_softmax(v[0], d); },
              Tolerance::sum};
    case 2: {
      const bool keep = r.one_in(2);
      return {text("logsumexp ", shape, " along ", d, keep ? ", kept" : ""),
              {shared(shape)},
              [=](const Tensors& v) { return logsumexp(v[0], d, keep); },
              reduced(log_sum_exp, {d}, keep),
              Tolerance::sum};
    }
    default: {
      Dims x = shape;
      x.push_back(r.whole(3, 9));  // of fewer elements the variance may be nearly nothing
      const Dims over = part(x, d, x.size());
      std::vector<Input> inputs = {shared(x)};
      for (int64_t i = r.whole(0, 2); i > 0; --i) inputs.push_back(shared(over));
      return {text("layer_norm ", x, " over ", over, " with ", inputs.size() - 1, " parameters"),
              inputs,
              [over](const Tensors& v) {
                return accrue::layer_norm(v[0], over, v.size() > 1 ? v[1] : Tensor(),
                                          v.size() > 2 ? v[2] : Tensor());
              },
              table::layer_norm(over.size()),
              Tolerance::sum,
              {},
              kAnyFractions};
    }
  }
}

OpCase products(Random& r) {
  const auto size = [&] {
    return r.one_in(12) ? r.of<int64_t>({64, 70, 130}) : r.of<int64_t>({1, 2, 3, 5, 7, 17, 33});
  };
  const int64_t m = size(), k = r.one_in(20) ? 0 : size(), n = size();
  if (r.one_in(3)) {
    const Dims batch = r.shape(0, 2, 12);
    std::vector<Input> inputs = {shared(joined(batch, {k})), shared({n, k})};
    if (r.one_in(2)) inputs.push_back(shared({n}));
    return {
        text("linear ", inputs[0].shape, " to ", n, inputs.size() > 2 ? " with bias" : ""),
        inputs,
        [](const Tensors& v) { return accrue::linear(v[0], v[1], v.size() > 2 ? v[2] : Tensor()); },
        table::linear,
        Tolerance::sum,
        {},
        kAnyChain};
  }
  const Dims batch = r.shape(0, 2, 12);
  Dims a = joined(r.stretching_to(batch), {m, k}), b = joined(r.stretching_to(batch), {k, n});
  if (r.one_in(8)) a = {k};
  if (r.one_in(8)) b = {k};
  return {text("matmul ", a, b),
          {shared(a), shared(b)},
          [](const Tensors& v) { return accrue::matmul(v[0], v[1]); },
          table::matmul,
          Tolerance::sum,
          {},
          kAnyChain};
}

/// One to four ways of looking at it or moving it, one after another.
OpCase views(Random& r) {
  Dims shape = r.shape(1, 4, 300, true);
  OpCase row{text(shape), {shared(shape)},  [](const Tensors& v) { return v[0]; },
             same(),      Tolerance::exact, {},
             kAnyChain};
  const auto then = [&](const std::string& name, const Dims& to,
                        const std::function<Tensor(const Tensor&)>& f,
                        const std::function<Dims(const Dims&)>& from) {
    row.name += " " + name;
    row.f = [before = row.f, f](const Tensors& v) { return f(before(v)); };
    row.reference = [before = row.reference, to, from](const Arrays& v) {
      const Array x = before(v);
      return build(to, [&](const Dims& i) { return x(from(i)); });
    };
    shape = to;
  };
  for (int64_t steps = r.whole(1, 4); steps > 0 && !shape.empty(); --steps) {
    const int d = r.dim(shape), e = r.dim(shape);
    const int64_t n = shape[d];
    switch (r.whole(0, 8)) {
      case 0: {
        Dims to = shape;
        std::swap(to[d], to[e]);
        then(
            text("transpose ", d, e), to, [=](const Tensor& x) { return transpose(x, d, e); },
            [=](Dims i) { return std::swap(i[d], i[e]), i; });
        break;
      }
      case 1: {
        const int64_t start = r.whole(0, n), step = r.whole(1, 3), end = r.whole(start, n);
        then(
            text("slice ", d, " ", start, ":", end, ":", step),
            with(shape, d, (end - start + step - 1) / step),
            [=](const Tensor& x) { return slice(x, d, start, end, step); },
            [=](const Dims& i) { return with(i, d, start + step * i[d]); });
        break;
      }
      case 2: {
        if (n == 0) break;
        const int64_t at = r.whole(0, n - 1);
        then(
            text("select ", d, " ", at), without(shape, d),
            [=](const Tensor& x) { return select(x, d, at); },
            [=](Dims i) { return i.insert(d, at), i; });
        break;
      }
      case 3: {
        Dims to = shape;
        to.insert(d, 1);
        then(
            text("unsqueeze ", d), to, [=](const Tensor& x) { return unsqueeze(x, d); },
            [=](Dims i) { return i.erase(d), i; });
        break;
      }
      case 4: {
        if (n != 1) break;
        const int64_t times = r.whole(1, 3);
        then(
            text("expand ", d, " ", times), with(shape, d, times),
            [=](const Tensor& x) { return expand(x, with(x.shape(), d, times)); },
            [=](const Dims& i) { return with(i, d, 0); });
        break;
      }
      case 5: {  // flatten all that follows
        const Dims from = shape;
        const Dims to = joined(part(shape, 0, d), {numel(part(shape, d, shape.size()))});
        then(
            text("flatten ", d), to, [=](const Tensor& x) { return flatten(x, d); },
            [=](const Dims& i) {
              Dims at = part(i, 0, d);
              int64_t rest = i[d], below = numel(part(from, d, from.size()));
              for (int k = d; k < from.size(); ++k) {
                below /= from[k];
                at.push_back(rest / below);
                rest %= below;
              }
              return at;
            });
        break;
      }
      case 6:
        then(
            text("flip ", d), shape, [=](const Tensor& x) { return flip(x, {d}); },
            [=](const Dims& i) { return with(i, d, n - 1 - i[d]); });
        break;
      case 7: {
        const int64_t by = r.whole(-3, 3);
        then(
            text("roll ", d, " by ", by), shape, [=](const Tensor& x) { return roll(x, by, d); },
            [=](const Dims& i) { return with(i, d, ((i[d] - by) % n + n) % n); });
        break;
      }
      default:
        then(
            "contiguous", shape, [](const Tensor& x) { return contiguous(x); },
            [](const Dims& i) { return i; });
    }
  }
  return row;
}

OpCase picks(Random& r) {
  const Dims shape = r.shape(1, 4, 200);
  const int d = r.dim(shape);
  const auto n = r.of<int64_t>({0, 1, 2, 5, 9});
  switch (r.whole(0, 3)) {
    case 0:
      return {text("index_select ", shape, " along ", d, " x", n),
              {shared(shape), indices({n}, shape[d], -1)},
              [d](const Tensors& v) { return accrue::index_select(v[0], d, v[1]); },
              table::index_select(d),
              Tolerance::exact,
              {},
              kAnyChain};
    case 1: {
      Dims index = shape;
      for (int k = 0; k < shape.size(); ++k) index[k] = k == d ? n : r.whole(1, shape[k]);
      return {text("gather ", shape, " along ", d, " by ", index),
              {shared(shape), indices(index, shape[d], -1)},
              [d](const Tensors& v) { return accrue::gather(v[0], d, v[1]); },
              table::gather(d),
              Tolerance::exact,
              {},
              kAnyChain};
    }
    case 2: {
      Dims index = shape, src = shape;
      for (int k = 0; k < shape.size(); ++k) {
        index[k] = k == d ? n : r.whole(1, shape[k]);
        src[k] = index[k] + r.whole(0, 2);
      }
      return {text("scatter_add ", shape, " along ", d, " by ", index, " of ", src),
              {shared(shape), indices(index, shape[d], -1), shared(src)},
              [d](const Tensors& v) { return accrue::scatter_add(v[0], d, v[1], v[2]); },
              table::scatter_add(d),
              Tolerance::sum,
              {},
              kAnyChain};
    }
    default: {
      const Dims index = r.shape(0, 3, 30, true);
      const int64_t vocabulary = r.whole(1, 9), width = r.whole(1, 17);
      return {text("embedding of ", vocabulary, " by ", index),
              {shared({vocabulary, width}), indices(index, vocabulary, -1)},
              [](const Tensors& v) { return accrue::embedding(v[0], v[1]); },
              table::embedding,
              Tolerance::exact,
              {},
              kAnyChain};
    }
  }
}

OpCase joins(Random& r) {
  const Dims shape = r.shape(1, 4, 100, true);
  const int d = r.dim(shape);
  std::vector<Input> inputs;
  const bool cat = r.one_in(2);
  std::string name = text(cat ? "cat" : "stack", " along ", d);
  for (int64_t i = r.whole(1, 4); i > 0; --i) {
    inputs.push_back(shared(cat ? with(shape, d, r.whole(0, 4)) : shape));
    name += text(" ", inputs.back().shape);
  }
  return {name, inputs,
          [=](const Tensors& v) {
            const std::span<const Tensor> all(v);
            return cat ? accrue::cat(all, d) : accrue::stack(all, d);
          },
          cat ? table::cat(d) : table::stack(d), Tolerance::exact};
}

OpCase images(Random& r) {
  const auto two = [&](int64_t low, int64_t high) {
    return std::array<int64_t, 2>{r.whole(low, high), r.whole(low, high)};
  };
  const Dims size{r.whole(1, 2), r.whole(5, 9), r.whole(5, 9)};  // batch, height, width
  if (r.one_in(2)) {
    const int64_t groups = r.whole(1, 2), in = groups * r.whole(1, 2), out = groups * r.whole(1, 3);
    const Window p{
        .stride = two(1, 2), .padding = two(0, 2), .dilation = two(1, 2), .groups = groups};
    const Dims w{out, in / groups, r.whole(1, 3), r.whole(1, 3)};
    std::vector<Input> inputs = {shared({size[0], in, size[1], size[2]}), shared(w)};
    if (r.one_in(2)) inputs.push_back(shared({out}));
    return {text("conv2d ", inputs[0].shape, w, " stride ", p.stride[0], p.stride[1], " padding ",
                 p.padding[0], p.padding[1], " dilation ", p.dilation[0], p.dilation[1], " groups ",
                 groups, inputs.size() > 2 ? " bias" : ""),
            inputs,
            [p](const Tensors& v) {
              return accrue::conv2d(v[0], v[1], v.size() > 2 ? v[2] : Tensor(),
                                    {.stride = p.stride,
                                     .padding = p.padding,
                                     .dilation = p.dilation,
                                     .groups = p.groups});
            },
            table::conv2d(p),
            Tolerance::sum,
            {},
            kAnyChain};
  }
  const bool largest = r.one_in(2);
  Window p{.kernel = two(1, 3), .stride = two(1, 3), .ceil_mode = r.one_in(2)};
  p.padding = {r.whole(0, p.kernel[0] / 2), r.whole(0, p.kernel[1] / 2)};
  if (largest) p.dilation = two(1, 2);
  const Dims x{size[0], r.whole(1, 2), size[1], size[2]};
  const std::string name =
      text(largest ? "max_pool2d " : "avg_pool2d ", x, " kernel ", p.kernel[0], p.kernel[1],
           " stride ", p.stride[0], p.stride[1], " padding ", p.padding[0], p.padding[1],
           " dilation ", p.dilation[0], p.dilation[1], p.ceil_mode ? " ceil" : "");
  if (largest)
    return {name,
            {shared(x, Kind::distinct)},
            [p](const Tensors& v) {
              return accrue::max_pool2d(v[0], {.kernel = p.kernel,
                                               .stride = p.stride,
                                               .padding = p.padding,
                                               .dilation = p.dilation,
                                               .ceil_mode = p.ceil_mode});
            },
            table::max_pool2d(p),
            Tolerance::exact,
            {},
            kAnyChain};
  const bool padding_counts = r.one_in(2);
  return {name + (padding_counts ? "" : " without padding"),
          {shared(x)},
          [=](const Tensors& v) {
            return accrue::avg_pool2d(v[0], {.kernel = p.kernel,
                                             .stride = p.stride,
                                             .padding = p.padding,
                                             .ceil_mode = p.ceil_mode,
                                             .count_include_pad = padding_counts});
          },
          table::avg_pool2d(p, padding_counts ? 0 : -1),
          Tolerance::sum,
          {},
          kAnyFractions};
}

OpCase attentions(Random& r) {
  const Dims batch = r.shape(0, 2, 6);
  const int64_t queries = r.whole(1, 9), keys = r.whole(1, 9), width = r.whole(1, 9),
                value_width = r.whole(1, 9);
  Attention p{.causal = r.one_in(2), .boolean_mask = r.one_in(2)};
  std::vector<Input> inputs = {shared(joined(batch, {queries, width})),
                               shared(joined(batch, {keys, width})),
                               shared(joined(batch, {keys, value_width}))};
  std::string name = text("attention ", inputs[0].shape, inputs[1].shape, inputs[2].shape,
                          p.causal ? " causal" : "");
  if (r.one_in(2)) {
    const Dims mask = r.stretching_to(joined(batch, {queries, keys}));
    inputs.push_back(p.boolean_mask ? booleans(mask, -1) : constant(shared(mask)));
    name += text(p.boolean_mask ? " bool" : " float", " mask ", mask);
  }
  return {name,
          inputs,
          [p](const Tensors& v) {
            return scaled_dot_product_attention(
                v[0], v[1], v[2], {.mask = v.size() > 3 ? v[3] : Tensor(), .is_causal = p.causal});
          },
          attention(p),
          Tolerance::sum,
          {},
          kAnyFractions};
}

OpCase losses(Random& r) {
  const Over over = r.of({Over::none, Over::mean, Over::sum});
  const Reduction reduction = over == Over::none   ? Reduction::none
                              : over == Over::mean ? Reduction::mean
                                                   : Reduction::sum;
  if (r.one_in(3)) {
    const Dims shape = r.shape(0, 4, 500, true);
    const bool square = r.one_in(2);
    return {text(square ? "mse_loss " : "l1_loss ", shape, " reduction ", static_cast<int>(over)),
            {shared(shape), shared(shape)},
            [=](const Tensors& v) { return (square ? mse_loss : l1_loss)(v[0], v[1], reduction); },
            pair_loss(
                square ? +[](double a) { return a * a; } : +[](double a) { return std::fabs(a); },
                over),
            Tolerance::sum,
            {},
            kAnyFractions};
  }
  Dims targets = r.shape(0, 3, 60), logits = targets;
  const int64_t classes = r.whole(1, 9);
  logits.insert(targets.empty() ? 0 : 1, classes);
  const int64_t ignored = r.one_in(2) ? 0 : -100;
  const double smoothing = r.of({0.0, 0.0, 0.1, 1.0});
  std::vector<Input> inputs = {shared(logits), indices(targets, classes, -1)};
  if (r.one_in(2)) inputs.push_back(constant(shared({classes}, Kind::positive)));
  return {text("cross_entropy ", logits, " reduction ", static_cast<int>(over), " ignoring ",
               ignored, " smoothing ", smoothing, inputs.size() > 2 ? " weights" : ""),
          inputs,
          [=](const Tensors& v) {
            return accrue::cross_entropy(v[0], v[1],
                                         {.weight = v.size() > 2 ? v[2] : Tensor(),
                                          .ignore_index = ignored,
                                          .reduction = reduction,
                                          .label_smoothing = smoothing});
          },
          table::cross_entropy(over, ignored, smoothing),
          Tolerance::sum,
          {},
          kAnyFractions};
}

// ---- the test ----

struct Family {
  const char* name;
  OpCase (*make)(Random&);
};
class Property : public ::testing::TestWithParam<Family> {};

uint32_t number_of(const char* variable, uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

TEST_P(Property, HoldsForRandomCases) {
  const uint32_t only = number_of("ACCRUE_SEED", 0);
  const uint32_t cases = only != 0 ? 1 : number_of("ACCRUE_PROPERTY_CASES", 50);
  for (uint32_t i = 0; i < cases && !HasFailure(); ++i) {
    const uint32_t seed = only != 0 ? only : i + 1;
    Random random(seed);
    OpCase row = GetParam().make(random);
    SCOPED_TRACE(text(row.name, "; replay with ACCRUE_SEED=", seed));
    try {
      int64_t elements = 0;
      for (const Input& x : row.inputs) elements += x.floating() ? numel(x.shape) : 0;
      row.slack = 2 + std::sqrt(static_cast<double>(elements));
      expect_value(row, DType::float32);
      expect_value(row, DType::float64);
      if (elements <= 400) expect_gradient(row);
      expect_add_rule(row, DType::float32);
      expect_unwanted(row, DType::float32);
      expect_any_layout(row, DType::float32);
      expect_16_bit(row, DType::bfloat16);
    } catch (const Error& error) {
      ADD_FAILURE() << "threw: " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, Property,
    ::testing::Values(Family{"broadcasts", broadcasts}, Family{"unaries", unaries},
                      Family{"choices", choices}, Family{"reductions", reductions},
                      Family{"rows", rows}, Family{"products", products}, Family{"views", views},
                      Family{"picks", picks}, Family{"joins", joins}, Family{"images", images},
                      Family{"attentions", attentions}, Family{"losses", losses}),
    [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace accrue::testing
