// Random cases of views and of what moves elements, one after another in a chain.
// Read next: random_picks.cpp, which chooses elements by index and joins tensors.
#include <numeric>

#include "tests/ops/random_chapters.h"
#include "tests/ops/references.h"

#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

using namespace table;

// ---- views, and what moves elements ----

/// A case that grows, one operator after another.
class Chain {
 public:
  explicit Chain(const Dims& input)
      : shape(input),
        row_{concat(input), {shared(input)}, [](V v) { return v[0]; }, same(), Tolerance::exact} {}

  /// y[i] = x[from(i)]
  void then(const std::string& name, const Dims& to, const std::function<Tensor(X)>& f,
            const std::function<Dims(Dims)>& from) {
    row_.name += " " + name;
    row_.f = [before = row_.f, f](V v) { return f(before(v)); };
    row_.reference = [before = row_.reference, to, from](const Arrays& v) {
      const Array x = before(v);
      return build(to, [&](const Dims& i) { return x(from(i)); });
    };
    shape = to;
  }
  /// The same elements in row-major order.
  void then_reshaped(const std::string& name, const Dims& to, const std::function<Tensor(X)>& f) {
    row_.name += " " + name;
    row_.f = [before = row_.f, f](V v) { return f(before(v)); };
    row_.reference = [before = row_.reference, to](const Arrays& v) {
      return Array{to, before(v).v};
    };
    shape = to;
  }
  /// What came last stretches: its gradient is a sum.
  void sums() { row_.traits.adds = Adds::chained; }
  void needs_dense() { row_.traits.dense_only = true; }
  OpCase row(const std::string& op) const {
    OpCase row = row_;
    row.name = concat(op, " ", row.name);
    return row;
  }

  Dims shape;

 private:
  OpCase row_;
};

using Step = void (*)(Chain&, Random&);

void transpose_step(Chain& c, Random& r) {
  Dims to = c.shape;
  const int d = r.dim(to), e = r.dim(to);
  const int64_t called = r.called(d, to.size());
  std::swap(to[d], to[e]);
  c.then(
      concat("transpose ", called, " ", e), to, [=](X x) { return transpose(x, called, e); },
      [=](Dims i) { return std::swap(i[d], i[e]), i; });
}

void t_step(Chain& c, Random&) {
  const Dims to = c.shape.size() < 2 ? c.shape : Dims{c.shape[1], c.shape[0]};
  c.then(
      "t", to, [](X x) { return t(x); },
      [](Dims i) {
        return i.size() < 2 ? i : Dims{i[1], i[0]};
      });
}

void permute_step(Chain& c, Random& r) {
  const Dims order = r.order(c.shape.size());
  Dims to, called;
  for (int64_t d : order) {
    to.push_back(c.shape[static_cast<int>(d)]);
    called.push_back(r.called(static_cast<int>(d), c.shape.size()));
  }
  c.then(
      concat("permute ", called), to, [=](X x) { return permute(x, called); },
      [=](const Dims& i) {
        Dims at = i;
        for (int k = 0; k < i.size(); ++k) at[static_cast<int>(order[k])] = i[k];
        return at;
      });
}

void slice_step(Chain& c, Random& r) {
  const int d = r.dim(c.shape);
  const int64_t n = c.shape[d], step = r.whole(1, 3);
  const int64_t start = r.whole(0, n), end = r.whole(start, n);
  const int64_t called = r.called(d, c.shape.size());
  // Bounds from the back, and beyond the end, name the same elements.
  const int64_t first = start < n && r.one_in(3) ? start - n : start;
  const int64_t last = end < n && r.one_in(3) ? end - n : end == n && r.one_in(3) ? n + 9 : end;
  c.then(
      concat("slice ", called, " ", first, ":", last, ":", step),
      with(c.shape, d, (end - start + step - 1) / step),
      [=](X x) { return slice(x, called, first, last, step); },
      [=](const Dims& i) { return with(i, d, start + step * i[d]); });
}

void narrow_step(Chain& c, Random& r) {
  const int d = r.dim(c.shape);
  const int64_t start = r.whole(0, c.shape[d]), n = r.whole(0, c.shape[d] - start);
  const int64_t called = r.called(d, c.shape.size());
  c.then(
      concat("narrow ", called, " ", start, " x", n), with(c.shape, d, n),
      [=](X x) { return narrow(x, called, start, n); },
      [=](const Dims& i) { return with(i, d, start + i[d]); });
}

void select_step(Chain& c, Random& r) {
  const int d = r.dim(c.shape);
  const int64_t n = c.shape[d];
  if (n == 0) return;
  const int64_t at = r.whole(0, n - 1), index = r.one_in(3) ? at - n : at;
  c.then(
      concat("select ", d, " ", index), without(c.shape, d),
      [=](X x) { return select(x, d, index); }, [=](Dims i) { return i.insert(d, at), i; });
}

void expand_step(Chain& c, Random& r) {
  const Dims shape = c.shape;
  Dims to = shape;
  for (int64_t& n : to)
    if (n == 1 && r.one_in(2)) n = r.whole(0, 3);
  for (int64_t more = to == shape ? 1 : r.whole(0, 1); more > 0; --more)
    to.insert(0, r.whole(1, 3));
  Dims asked = to;
  const int gone = to.size() - shape.size();
  for (int d = gone; d < to.size(); ++d)
    if (r.one_in(4) && to[d] == shape[d - gone]) asked[d] = -1;
  c.then(
      concat("expand ", asked), to, [=](X x) { return expand(x, asked); },
      [=](const Dims& i) {
        Dims at = part(i, gone, i.size());
        for (int d = 0; d < at.size(); ++d)
          if (shape[d] == 1) at[d] = 0;
        return at;
      });
  c.sums();
}

Dims asked_for(const Dims& to, Random& r) {
  Dims asked = to;
  if (!to.empty() && numel(to) > 0 && r.one_in(3)) asked[r.dim(to)] = -1;
  return asked;
}

void reshape_step(Chain& c, Random& r) {
  const Dims to = r.shape_of(numel(c.shape)), asked = asked_for(to, r);
  c.then_reshaped(concat("reshape ", asked), to, [=](X x) { return reshape(x, asked); });
}

void view_step(Chain& c, Random& r) {
  const Dims to = r.shape_of(numel(c.shape)), asked = asked_for(to, r);
  c.then_reshaped(concat("view ", asked), to, [=](X x) { return view(x, asked); });
  c.needs_dense();
}

void flatten_step(Chain& c, Random& r) {
  const int rank = c.shape.size(), d = r.dim(c.shape), e = static_cast<int>(r.whole(d, rank - 1));
  const int64_t start = r.called(d, rank), end = r.called(e, rank);
  const Dims to = joined(joined(part(c.shape, 0, d), {numel(part(c.shape, d, e + 1))}),
                         part(c.shape, e + 1, rank));
  c.then_reshaped(concat("flatten ", start, " .. ", end), to,
                  [=](X x) { return flatten(x, start, end); });
}

void squeeze_step(Chain& c, Random& r) {
  Dims to;
  if (r.one_in(3)) {
    for (int64_t n : c.shape)
      if (n != 1) to.push_back(n);
    return c.then_reshaped("squeeze", to, [](X x) { return squeeze(x); });
  }
  const int d = r.dim(c.shape);
  const int64_t called = r.called(d, c.shape.size());
  c.then_reshaped(concat("squeeze ", called), c.shape[d] == 1 ? without(c.shape, d) : c.shape,
                  [=](X x) { return squeeze(x, called); });
}

void unsqueeze_step(Chain& c, Random& r) {
  Dims to = c.shape;
  const int d = static_cast<int>(r.whole(0, to.size()));
  to.insert(d, 1);
  const int64_t called = r.called(d, to.size());
  c.then_reshaped(concat("unsqueeze ", called), to, [=](X x) { return unsqueeze(x, called); });
}

void contiguous_step(Chain& c, Random&) {
  c.then_reshaped("contiguous", c.shape, [](X x) { return contiguous(x); });
}

void clone_step(Chain& c, Random&) {
  c.then_reshaped("clone", c.shape, [](X x) { return clone(x); });
}

void repeat_step(Chain& c, Random& r) {
  const Dims shape = c.shape;
  Dims times;
  for (int64_t d = shape.size() + r.whole(0, 1); d > 0; --d)
    times.push_back(r.one_in(15) ? 0 : r.of<int64_t>({1, 1, 2, 3}));
  Dims to = times;
  const int gone = to.size() - shape.size();
  for (int d = 0; d < shape.size(); ++d) to[d + gone] *= shape[d];
  c.then(
      concat("repeat ", times), to, [=](X x) { return repeat(x, times); },
      [=](const Dims& i) {
        Dims at = part(i, gone, i.size());
        for (int d = 0; d < at.size(); ++d) at[d] %= shape[d];
        return at;
      });
  c.sums();
}

void flip_step(Chain& c, Random& r) {
  const Dims shape = c.shape;
  Dims dims, called;
  for (int64_t d : r.order(shape.size())) {
    if (!r.one_in(2)) continue;
    dims.push_back(d);
    called.push_back(r.called(static_cast<int>(d), shape.size()));
  }
  if (dims.empty()) dims = called = {0};
  c.then(
      concat("flip ", called), shape, [=](X x) { return flip(x, called); },
      [=](Dims i) {
        for (int64_t d : dims) {
          const int k = static_cast<int>(d);
          i[k] = shape[k] - 1 - i[k];
        }
        return i;
      });
}

void roll_step(Chain& c, Random& r) {
  const int d = r.dim(c.shape);
  const int64_t n = c.shape[d], by = r.whole(-5, 5), called = r.called(d, c.shape.size());
  c.then(
      concat("roll ", called, " by ", by), c.shape, [=](X x) { return roll(x, by, called); },
      [=](const Dims& i) { return with(i, d, ((i[d] - by) % n + n) % n); });
}

/// One of the pieces start .. start + size, start + size .. along `d`.
void piece(Chain& c, Random& r, const std::string& name, int d, const std::vector<int64_t>& sizes,
           const std::function<std::vector<Tensor>(X)>& pieces) {
  const auto which = static_cast<size_t>(r.whole(0, static_cast<int64_t>(sizes.size()) - 1));
  const auto first = sizes.begin() + static_cast<std::ptrdiff_t>(which);
  const int64_t start = std::accumulate(sizes.begin(), first, int64_t{0});
  c.then(
      concat(name, " along ", d, ", piece ", which, " of ", sizes.size()),
      with(c.shape, d, sizes[which]),
      [=](X x) {
        const std::vector<Tensor> all = pieces(x);
        check<ShapeError>(all.size() == sizes.size(), name, ": ", all.size(), " pieces, not ",
                          sizes.size());
        return all[which];
      },
      [=](const Dims& i) { return with(i, d, start + i[d]); });
}

std::vector<int64_t> equal_pieces(int64_t n, int64_t size) {
  std::vector<int64_t> sizes;
  for (; n > size; n -= size) sizes.push_back(size);
  sizes.push_back(n);
  return sizes;
}

void split_step(Chain& c, Random& r) {
  const int d = r.dim(c.shape);
  const int64_t n = c.shape[d], called = r.called(d, c.shape.size());
  if (r.one_in(2)) {
    const int64_t size = r.whole(1, n + 1);
    return piece(c, r, concat("split by ", size), d, equal_pieces(n, size),
                 [=](X x) { return split(x, size, called); });
  }
  std::vector<int64_t> sizes;
  for (int64_t rest = n; rest > 0 || sizes.empty(); rest -= sizes.back())
    sizes.push_back(r.whole(0, rest));
  piece(c, r, "split", d, sizes,
        [=](X x) { return split(x, std::span<const int64_t>(sizes), called); });
}

void chunk_step(Chain& c, Random& r) {
  const int d = r.dim(c.shape);
  const int64_t n = c.shape[d], count = r.whole(1, n + 2), called = r.called(d, c.shape.size());
  piece(c, r, concat("chunk by ", count), d,
        equal_pieces(n, std::max<int64_t>(1, (n + count - 1) / count)),
        [=](X x) { return chunk(x, count, called); });
}

void unbind_step(Chain& c, Random& r) {
  const int d = r.dim(c.shape);
  if (c.shape[d] == 0) return;
  const int64_t at = r.whole(0, c.shape[d] - 1), called = r.called(d, c.shape.size());
  c.then(
      concat("unbind ", called, ", ", at), without(c.shape, d),
      [=](X x) { return unbind(x, called)[static_cast<size_t>(at)]; },
      [=](Dims i) { return i.insert(d, at), i; });
}

constexpr std::initializer_list<Step> kSteps = {
    transpose_step, permute_step, slice_step,   narrow_step,    select_step,     expand_step,
    reshape_step,   flatten_step, squeeze_step, unsqueeze_step, contiguous_step, clone_step,
    flip_step,      roll_step,    split_step,   chunk_step,     unbind_step};

struct Mover {
  const char* name;
  Step step;
  int least_rank = 1, most_rank = 4;
  bool nothing = true;  ///< works on tensors without elements, in any dimension
};

/// The operator on an input as it is, or on a view of one; and perhaps something that uses it.
OpCase moves(Random& r, const Mover& op) {
  Chain chain(r.shape(op.least_rank, op.most_rank, 150, op.nothing));
  const bool of_view = op.step != view_step && !chain.shape.empty() && r.one_in(2);
  if (of_view) r.of({transpose_step, permute_step, flip_step})(chain, r);
  op.step(chain, r);
  if (!chain.shape.empty() && chain.shape.size() < 6 && r.one_in(3)) r.of(kSteps)(chain, r);
  return chain.row(op.name);
}

/// One to four ways of looking at it or moving it, one after another.
OpCase views_of_views(Random& r) {
  Chain chain(r.shape(1, 4, 150, true));
  for (int64_t steps = r.whole(1, 4); steps > 0 && !chain.shape.empty(); --steps)
    if (chain.shape.size() < 6) r.of(kSteps)(chain, r);
  return chain.row(kViewsOfViews);
}

}  // namespace

void add_views(const OpAdder& has) {
  // clang-format off
  for (const Mover& op : std::initializer_list<Mover>{
    {"transpose", transpose_step}, {"t", t_step, 0, 2}, {"permute", permute_step, 0},
    {"slice", slice_step}, {"narrow", narrow_step}, {"select", select_step, 1, 4, false},
    {"expand", expand_step, 0}, {"reshape", reshape_step, 0}, {"view", view_step, 0},
    {"flatten", flatten_step}, {"squeeze", squeeze_step}, {"unsqueeze", unsqueeze_step, 0},
    {"contiguous", contiguous_step, 0}, {"clone", clone_step, 0}, {"repeat", repeat_step, 0},
    {"roll", roll_step}, {"flip", flip_step}, {"split", split_step}, {"chunk", chunk_step},
    {"unbind", unbind_step, 1, 4, false},
  }) has(op.name, moves, op);
  // clang-format on
  has(kViewsOfViews, views_of_views);
}

}  // namespace accrue::testing
