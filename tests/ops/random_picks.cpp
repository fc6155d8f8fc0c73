// Random cases of joining tensors, and of picking elements by index: the last chapter.
// Read next: property_test.cpp, the laws that all these cases must obey.
#include <span>

#include "tests/ops/random_chapters.h"
#include "tests/ops/references.h"

#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

using namespace table;

// ---- joins ----

OpCase joins(Random& r, bool stacks) {
  const Dims shape = r.shape(1, 4, 100, true);
  const int rank = shape.size() + (stacks ? 1 : 0), d = static_cast<int>(r.whole(0, rank - 1));
  const int64_t called = r.called(d, rank);
  std::vector<Input> inputs;
  std::string name = concat(stacks ? "stack" : "cat", " along ", called);
  for (int64_t i = r.whole(1, 4); i > 0; --i) {
    inputs.push_back(shared(stacks ? shape : with(shape, d, r.whole(0, 4))));
    name += concat(" ", inputs.back().shape);
  }
  return made(
      name, inputs,
      [=](V v) {
        const std::span<const Tensor> all(v);
        return stacks ? accrue::stack(all, called) : accrue::cat(all, called);
      },
      stacks ? table::stack(d) : table::cat(d), Tolerance::exact);
}

// ---- picks ----

struct Pick {
  Dims shape;
  int d;
  int64_t called, n;  ///< the dimension as the call names it; how many are picked
};
Pick pick(Random& r) {
  const Dims shape = r.shape(1, 4, 200);
  const int d = r.dim(shape);
  return {shape, d, r.called(d, shape.size()), r.of<int64_t>({0, 1, 2, 5, 9})};
}

OpCase index_select_case(Random& r) {
  const auto [shape, d, called, n] = pick(r);
  return made(
      concat("index_select ", shape, " along ", called, " x", n),
      {shared(shape), indices({n}, shape[d], -1)},
      [called = called](V v) { return accrue::index_select(v[0], called, v[1]); },
      table::index_select(d), Tolerance::exact, kAnyChain);
}

OpCase gather_case(Random& r) {
  const auto [shape, d, called, n] = pick(r);
  Dims index = shape;
  for (int k = 0; k < shape.size(); ++k) index[k] = k == d ? n : r.whole(1, shape[k]);
  return made(
      concat("gather ", shape, " along ", called, " by ", index),
      {shared(shape), indices(index, shape[d], -1)},
      [called = called](V v) { return accrue::gather(v[0], called, v[1]); }, table::gather(d),
      Tolerance::exact, kAnyChain);
}

OpCase index_add_case(Random& r) {
  const auto [shape, d, called, n] = pick(r);
  const Dims src = with(shape, d, n);
  return made(
      concat("index_add ", shape, " along ", called, " of ", src),
      {shared(shape), indices({n}, shape[d], -1), shared(src)},
      [called = called](V v) { return accrue::index_add(v[0], called, v[1], v[2]); },
      table::scatter_add(d), Tolerance::sum, kAnyChain);
}

OpCase scatter_add_case(Random& r) {
  const auto [shape, d, called, n] = pick(r);
  Dims index = shape, src = shape;
  for (int k = 0; k < shape.size(); ++k) {
    index[k] = k == d ? n : r.whole(1, shape[k]);
    src[k] = index[k] + r.whole(0, 2);
  }
  return made(
      concat("scatter_add ", shape, " along ", called, " by ", index, " of ", src),
      {shared(shape), indices(index, shape[d], -1), shared(src)},
      [called = called](V v) { return accrue::scatter_add(v[0], called, v[1], v[2]); },
      table::scatter_add(d), Tolerance::sum, kAnyChain);
}

OpCase embedding_case(Random& r) {
  const Dims index = r.shape(0, 3, 30, true);
  const int64_t vocabulary = r.whole(1, 9), width = r.whole(1, 17);
  return made(
      concat("embedding of ", vocabulary, "x", width, " by ", index),
      {shared({vocabulary, width}), indices(index, vocabulary, -1)},
      [](V v) { return accrue::embedding(v[0], v[1]); }, table::embedding, Tolerance::exact,
      kAnyChain);
}

}  // namespace

void add_picks(const OpAdder& has) {
  has("cat", joins, false);
  has("stack", joins, true);
  has("index_select", index_select_case);
  has("gather", gather_case);
  has("index_add", index_add_case);
  has("scatter_add", scatter_add_case);
  has("embedding", embedding_case);
}

}  // namespace accrue::testing
