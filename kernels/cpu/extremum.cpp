// The largest and the smallest, where they are, and how they share a gradient.
#include <algorithm>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/reduction.h>
#include <accrue/kernels/reduce.h>

namespace accrue::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kMaxParts = 64;
constexpr int kOut = Nest::kOperands - 1;

enum class Which : uint8_t { largest, smallest };

/// x takes the place of `best`; NaN beats every number and gives way to nothing.
template <Which which, class C>
bool beats(C x, C best) {
  const bool closer = which == Which::largest ? x > best : x < best;
  return closer || (is_nan(x) && !is_nan(best));
}

/// The extremum of values[0, n), n > 0: sixteen at a time, without a branch.
template <Which which, class C>
C extremum(const C* values, int64_t n) {
  constexpr int64_t kLanes = 16;
  C best[kLanes];
  if (n < kLanes) {
    best[0] = values[0];
    for (int64_t i = 1; i < n; ++i)
      best[0] = beats<which>(values[i], best[0]) ? values[i] : best[0];
    return best[0];
  }
  std::copy_n(values, kLanes, best);
  const auto take = [&](const C* v) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const bool closer = which == Which::largest ? v[l] > best[l] : v[l] < best[l];
      best[l] = closer | is_nan(v[l]) ? v[l] : best[l];
    }
  };
  int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) take(values + i);
  if (i < n) take(values + n - kLanes);  // some a second time, which changes nothing
  for (int64_t l = 1; l < kLanes; ++l) best[0] = beats<which>(best[l], best[0]) ? best[l] : best[0];
  return best[0];
}

/// The best so far and where it was met first.
template <Which which, class C>
struct Champion {
  C value{};
  int64_t index = -1;

  void meet(C x, int64_t at) {
    if (index < 0 || beats<which>(x, value)) *this = {x, at};
  }
  void meet(const C* values, int64_t n, int64_t first) {
    const C x = extremum<which>(values, n);
    if (index >= 0 && !beats<which>(x, value)) return;
    int64_t i = 0;
    while (values[i] != x && !(is_nan(x) && is_nan(values[i]))) ++i;
    *this = {values[i], first + i};
  }
};

template <Which which, class C>
class Search {
 public:
  Search(const Reduction& plan, const ConstView& x)
      : plan_(plan), x_(x, plan.reduced, 0), n_(plan.reduced.count()) {
    const int64_t unit = 4096;
    part_length_ = unit * std::max<int64_t>(1, ceil_div(n_, unit * kMaxParts));
    parts_ = ceil_div(n_, part_length_);
  }

  /// put(champion, offset of the result)
  template <class F>
  void run(F put) const {
    const int64_t results = plan_.kept.count();
    const int64_t grain = std::max<int64_t>(1, kGrain / n_);
    if (results < int64_t{2} * num_threads() && parts_ > 1) {
      for (int64_t i = 0; i < results; ++i) search_one(i, put);
      return;
    }
    parallel_for(results, grain, [&](int64_t begin, int64_t end) {
      int64_t i = begin;
      while (i < end) i += search(i, end, put);
    });
  }

 private:
  static constexpr int64_t kColumns = 64;
  using Best = Champion<which, C>;

  Best search_part(const int64_t* offset, int64_t begin, int64_t end) const {
    Best best;
    C buffer[Reader<C>::kMost];
    const int64_t most = Reader<C>::kMost;
    each_run(plan_.reduced, offset, begin, end, most, [&](const int64_t* at, int64_t j, int64_t n) {
      best.meet(x_.read(at[0], n, buffer), n, j);
    });
    return best;
  }

  template <class F>
  void search_one(int64_t index, F put) const {
    int64_t offset[Nest::kOperands] = {};
    plan_.kept.add_offset(index, plan_.kept.rank, offset);
    Best parts[kMaxParts];
    parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        parts[part] =
            search_part(offset, part * part_length_, std::min(n_, (part + 1) * part_length_));
      }
    });
    Best best = parts[0];
    for (int64_t part = 1; part < parts_; ++part) best.meet(parts[part].value, parts[part].index);
    put(best, offset[kOut]);
  }

  // Results i, i + 1, ... as far as they lie side by side; returns how many it found.
  template <class F>
  int64_t search(int64_t i, int64_t end, F put) const {
    const Nest& kept = plan_.kept;
    int64_t offset[Nest::kOperands] = {};
    kept.add_offset(i, kept.rank, offset);
    const int64_t last = kept.rank - 1;
    const bool columns = kept.rank > 0 && plan_.reduced.rank > 0 && kept.stride[last][0] == 1 &&
                         plan_.reduced.stride[plan_.reduced.rank - 1][0] != 1;
    if (!columns) {
      put(search_part(offset, 0, n_), offset[kOut]);
      return 1;
    }
    const int64_t cols = std::min({kColumns, kept.size[last] - i % kept.size[last], end - i});
    C value[kColumns];
    int64_t index[kColumns];
    C buffer[kColumns];
    const int64_t row_stride = plan_.reduced.stride[plan_.reduced.rank - 1][0];
    each_run(plan_.reduced, offset, 0, n_, n_, [&](const int64_t* at, int64_t j, int64_t n) {
      for (int64_t r = 0; r < n; ++r) {
        const C* row = x_.read_row(at[0] + r * row_stride, cols, buffer);
        if (j + r == 0) {
          std::copy_n(row, cols, value);
          std::fill_n(index, cols, 0);
          continue;
        }
        for (int64_t c = 0; c < cols; ++c) {
          const bool better = beats<which>(row[c], value[c]);
          value[c] = better ? row[c] : value[c];
          index[c] = better ? j + r : index[c];
        }
      }
    });
    for (int64_t c = 0; c < cols; ++c) {
      put(Best{value[c], index[c]}, offset[kOut] + c * kept.stride[last][kOut]);
    }
    return cols;
  }

  const Reduction& plan_;
  Reader<C> x_;
  int64_t n_;
  int64_t part_length_ = 1, parts_ = 0;
};

void* out_at(const Dest& y, int64_t offset) {
  return static_cast<char*>(y.view.data) + offset * static_cast<int64_t>(size_of(y.view.dtype));
}

enum class Wanted : uint8_t { value, index };

template <Which which, Wanted wanted>
void find(const char* op, const ConstView& x, const Dest& y) {
  const ConstView* const inputs[] = {&x};
  const Reduction plan = plan_reduction(op, inputs, 1, y.view);
  if (plan.kept.count() == 0) return;
  check<ShapeError>(plan.reduced.count() > 0, op, ": nothing to choose from: x is ", x.shape,
                    "; a reduced dimension must not be 0");
  const auto run = [&]<class C>(C) {
    Search<which, C>(plan, x).run([&](const Champion<which, C>& best, int64_t offset) {
      if constexpr (wanted == Wanted::index) {
        scatter_of<int64_t>(y.view.dtype)(&best.index, {}, out_at(y, offset), y.write);
      } else {
        scatter_of<C>(y.view.dtype)(&best.value, {}, out_at(y, offset), y.write);
      }
    });
  };
  if (x.dtype == float64) return run(double());
  if (is_floating(x.dtype)) return run(float());
  run(int64_t());
}

template <class C>
void share(const ConstView& dy, const ConstView& x, const ConstView& y, const Dest& dx) {
  const ConstView moving = dx.view;
  const ConstView* const inputs[] = {&x, &dy, &moving};
  const View result{const_cast<void*>(y.data), y.shape, y.strides, y.dtype, y.device};
  const Reduction plan = plan_reduction("extremum_grad", inputs, 3, result);
  const Nest& reduced = plan.reduced;
  const Reader<C> read_x(x, reduced, 0);
  const Reader<C> read_dy(dy, reduced, 1);
  const Reader<C> read_y(y, reduced, kOut);
  const int64_t n = reduced.count();
  const int64_t most = Reader<C>::kMost;
  const int64_t dx_stride = reduced.rank > 0 ? reduced.stride[reduced.rank - 1][2] : 1;
  const Scatter<C> write = scatter_of<C>(dx.view.dtype);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n));
  parallel_for(plan.kept.count(), grain, [&](int64_t begin, int64_t end) {
    C buffer[Reader<C>::kMost];
    for (int64_t i = begin; i < end; ++i) {
      int64_t offset[Nest::kOperands] = {};
      plan.kept.add_offset(i, plan.kept.rank, offset);
      const C best = read_y.read_one(offset[kOut]);
      const auto is_best = [best](C v) { return v == best || (is_nan(v) && is_nan(best)); };
      int64_t ties = 0;
      each_run(reduced, offset, 0, n, most, [&](const int64_t* at, int64_t, int64_t length) {
        const C* values = read_x.read(at[0], length, buffer);
        for (int64_t k = 0; k < length; ++k) ties += is_best(values[k]);
      });
      const C each = read_dy.read_one(offset[1]) / static_cast<C>(ties);
      each_run(reduced, offset, 0, n, most, [&](const int64_t* at, int64_t, int64_t length) {
        const C* values = read_x.read(at[0], length, buffer);
        for (int64_t k = 0; k < length; ++k) buffer[k] = is_best(values[k]) ? each : C(0);
        write(buffer, {1, length, 0, dx_stride}, out_at(dx, at[2]), dx.write);
      });
    }
  });
}

}  // namespace

void amax(const ConstView& x, const Dest& y) { find<Which::largest, Wanted::value>("amax", x, y); }
void amin(const ConstView& x, const Dest& y) { find<Which::smallest, Wanted::value>("amin", x, y); }
void argmax(const ConstView& x, const Dest& y) {
  find<Which::largest, Wanted::index>("argmax", x, y);
}
void argmin(const ConstView& x, const Dest& y) {
  find<Which::smallest, Wanted::index>("argmin", x, y);
}

void extremum_grad(const ConstView& dy, const ConstView& x, const ConstView& y, const Dest& dx) {
  return x.dtype == float64 ? share<double>(dy, x, y, dx) : share<float>(dy, x, y, dx);
}

}  // namespace accrue::kernels::cpu
