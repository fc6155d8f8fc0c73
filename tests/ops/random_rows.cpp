// Random cases of what goes along a row: reductions, softmax, layer_norm and the losses.
// Read next: random_products.cpp, the sums of products.
#include <cmath>

#include "tests/ops/random_chapters.h"
#include "tests/ops/references.h"

#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

using namespace table;

// ---- reductions ----

struct Reducer {
  const char* name;
  Tensor (*f)(X, const Dims&, KeepDim);
  Fold right;
  Kind kind = Kind::plain;
  Tolerance tolerance = Tolerance::sum;
};

OpCase reductions(Random& r, const Reducer& op) {
  const Dims shape = r.shape(1, 5, 1500);
  Dims dims;
  for (int d = 0; d < shape.size(); ++d)
    if (r.one_in(2)) dims.push_back(r.called(d, shape.size()));
  const KeepDim keep = r.one_in(2) ? KeepDim::yes : KeepDim::no;
  return made(
      concat(op.name, " ", shape, " over ", dims, keep == KeepDim::yes ? ", kept" : ""),
      {shared(shape, op.kind)}, [=](V v) { return op.f(v[0], dims, keep); },
      reduced(op.right, dims, keep == KeepDim::yes), op.tolerance, kAnyFractions);
}

struct Extreme {  // of all, or along one dimension
  const char* name;
  Tensor (*of_all)(X);
  Tensor (*along)(X, int64_t, KeepDim);
  Fold right;
  OpTraits traits;
};

OpCase extremes(Random& r, const Extreme& op) {
  const Dims shape = r.shape(1, 5, 1500);
  if (r.one_in(4))
    return made(
        concat(op.name, " of all ", shape), {shared(shape, Kind::distinct)},
        [op](V v) { return op.of_all(v[0]); }, reduced(op.right), Tolerance::exact, op.traits);
  const int64_t d = r.called(r.dim(shape), shape.size());
  const KeepDim keep = r.one_in(2) ? KeepDim::yes : KeepDim::no;
  return made(
      concat(op.name, " ", shape, " along ", d, keep == KeepDim::yes ? ", kept" : ""),
      {shared(shape, Kind::distinct)}, [=](V v) { return op.along(v[0], d, keep); },
      reduced(op.right, {d}, keep == KeepDim::yes), Tolerance::exact, op.traits);
}

/// max and min along a dimension have two results.
OpCase values_or_places(Random& r, const Extreme& values, const Extreme& places) {
  return extremes(r, r.one_in(3) ? places : values);
}

OpCase cumsum_case(Random& r) {
  const Dims shape = r.shape(1, 5, 1500, true);
  const int d = r.dim(shape);
  const int64_t called = r.called(d, shape.size());
  const OpReference running_total = [d](const Arrays& v) {
    Array y = v[0];
    const auto n = static_cast<size_t>(y.shape[d]);
    const auto inner = static_cast<size_t>(numel(part(y.shape, d + 1, y.shape.size())));
    for (size_t i = 0; i < y.v.size(); ++i)
      if (i / inner % n != 0) y.v[i] += y.v[i - inner];
    return y;
  };
  return made(
      concat("cumsum ", shape, " along ", called), {shared(shape)},
      [=](V v) { return cumsum(v[0], called); }, running_total, Tolerance::sum, kAnyChain);
}

// ---- rows ----

OpCase softmax_case(Random& r, bool logarithm) {
  const Dims shape = r.shape(1, 4, 800);
  const int d = r.dim(shape);
  const int64_t called = r.called(d, shape.size());
  return made(
      concat(logarithm ? "log_softmax " : "softmax ", shape, " along ", called), {shared(shape)},
      [=](V v) { return (logarithm ? accrue::log_softmax : accrue::softmax)(v[0], called); },
      [=](const Arrays& v) { return (logarithm ? table::log_softmax : table::softmax)(v[0], d); },
      Tolerance::sum);
}

OpCase logsumexp_case(Random& r) {
  const Dims shape = r.shape(1, 4, 800);
  const int64_t d = r.called(r.dim(shape), shape.size());
  const bool keep = r.one_in(2);
  return made(
      concat("logsumexp ", shape, " along ", d, keep ? ", kept" : ""), {shared(shape)},
      [=](V v) { return logsumexp(v[0], d, keep); }, reduced(log_sum_exp, {d}, keep),
      Tolerance::sum);
}

OpCase layer_norm_case(Random& r) {
  Dims x = r.shape(1, 4, 800);
  const int d = r.dim(x);
  x.push_back(r.whole(3, 9));  // of fewer elements the variance may be nearly nothing
  const Dims over = part(x, d, x.size());
  std::vector<Input> inputs = {shared(x)};
  for (int64_t i = r.whole(0, 2); i > 0; --i) inputs.push_back(shared(over));
  return made(
      concat("layer_norm ", x, " over ", over, " with ", inputs.size() - 1, " parameters"), inputs,
      [over](V v) {
        return accrue::layer_norm(v[0], over, v.size() > 1 ? v[1] : Tensor(),
                                  v.size() > 2 ? v[2] : Tensor());
      },
      table::layer_norm(over.size()), Tolerance::sum, kAnyFractions);
}

// ---- losses ----

Over over_what(Random& r) { return r.of({Over::none, Over::mean, Over::sum}); }
Reduction reduction_of(Over over) {
  return over == Over::none   ? Reduction::none
         : over == Over::mean ? Reduction::mean
                              : Reduction::sum;
}

OpCase pair_losses(Random& r, bool square) {
  const Over over = over_what(r);
  const Dims shape = r.shape(0, 4, 500, true);
  return made(
      concat(square ? "mse_loss " : "l1_loss ", shape, " reduction ", static_cast<int>(over)),
      {shared(shape), shared(shape)},
      [=](V v) { return (square ? mse_loss : l1_loss)(v[0], v[1], reduction_of(over)); },
      pair_loss(
          square ? +[](double a) { return a * a; } : +[](double a) { return std::fabs(a); }, over),
      Tolerance::sum, kAnyFractions);
}

OpCase cross_entropy_case(Random& r) {
  const Over over = over_what(r);
  const Dims targets = r.shape(0, 3, 60);
  Dims logits = targets;
  const int64_t classes = r.whole(1, 9);
  logits.insert(targets.empty() ? 0 : 1, classes);
  const int64_t ignored = r.one_in(2) ? 0 : -100;
  const double smoothing = r.of({0.0, 0.0, 0.1, 1.0});
  std::vector<Input> inputs = {shared(logits), indices(targets, classes, -1)};
  if (r.one_in(2)) inputs.push_back(constant(shared({classes}, Kind::positive)));
  return made(
      concat("cross_entropy ", logits, " reduction ", static_cast<int>(over), " ignoring ", ignored,
             " smoothing ", smoothing, inputs.size() > 2 ? " weights" : ""),
      inputs,
      [=](V v) {
        return accrue::cross_entropy(v[0], v[1],
                                     {.weight = v.size() > 2 ? v[2] : Tensor(),
                                      .ignore_index = ignored,
                                      .reduction = reduction_of(over),
                                      .label_smoothing = smoothing});
      },
      table::cross_entropy(over, ignored, smoothing), Tolerance::sum, kAnyFractions);
}

}  // namespace

void add_rows(const OpAdder& has) {
  // clang-format off
  for (const Reducer& op : std::initializer_list<Reducer>{
    {"sum", sum, total},
    {"mean", mean, average},
    {"amax", amax, largest, Kind::distinct, Tolerance::exact},
    {"amin", amin, smallest, Kind::distinct, Tolerance::exact},
  }) has(op.name, reductions, op);
  const Extreme argmax_{"argmax", argmax, argmax, where_largest, kNoGradient};
  const Extreme argmin_{"argmin", argmin, argmin, where_smallest, kNoGradient};
  const Extreme max_{"max", max, [](X x, int64_t d, KeepDim k) { return max(x, d, k).values; }, largest, {}};
  const Extreme min_{"min", min, [](X x, int64_t d, KeepDim k) { return min(x, d, k).values; }, smallest, {}};
  has("argmax", extremes, argmax_);
  has("argmin", extremes, argmin_);
  has("max", values_or_places, max_, Extreme{
    "max by its place", argmax, [](X x, int64_t d, KeepDim k) { return max(x, d, k).indices; }, where_largest, kNoGradient});
  has("min", values_or_places, min_, Extreme{
    "min by its place", argmin, [](X x, int64_t d, KeepDim k) { return min(x, d, k).indices; }, where_smallest, kNoGradient});
  // clang-format on
  has("cumsum", cumsum_case);
  has("softmax", softmax_case, false);
  has("log_softmax", softmax_case, true);
  has("logsumexp", logsumexp_case);
  has("layer_norm", layer_norm_case);
  has("mse_loss", pair_losses, true);
  has("l1_loss", pair_losses, false);
  has("cross_entropy", cross_entropy_case);
}

}  // namespace accrue::testing
