// Sums. The n terms of one result are cut into at most 64 parts, which threads may share; a part is
// summed by Lanes, in double, and the parts' sums are added in their order. So the order depends on
// n alone. Many results side by side in memory are formed column-wise, each in that same order.
#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/lanes.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/reduction.h>
#include <accrue/kernels/cpu/rows.h>
#include <accrue/kernels/cpu/scratch.h>
#include <accrue/kernels/reduce.h>

namespace accrue::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kMaxParts = 64;
constexpr int64_t kColumns = 128;
constexpr int kOut = Nest::kOperands - 1;

// C: what is read, float, double or int64_t.
template <class C>
class Summation {
 public:
  using Sum = SumOf<C>;

  Summation(const ConstView& x, double divisor, const Dest& y)
      : plan_(plan(x, y)),
        x_(x, plan_.reduced, 0),
        put_whole_(scatter_of<int64_t>(y.view.dtype)),
        put_value_(scatter_of<double>(y.view.dtype)),
        divisor_(divisor),
        y_(y),
        n_(plan_.reduced.count()) {
    const int64_t unit = 4096;
    part_length_ = unit * std::max<int64_t>(1, ceil_div(n_, unit * kMaxParts));
    parts_ = ceil_div(n_, part_length_);
  }

  void run() {
    const int64_t results = plan_.kept.count();
    if (results == 0) return;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n_));
    if (lies_in_columns()) {
      const Nest& kept = plan_.kept;
      columns_ = kept.size[kept.rank - 1];
      tiles_ = ceil_div(columns_, kColumns);
      parallel_for(results / columns_ * tiles_, std::max<int64_t>(1, grain / kColumns),
                   [&](int64_t begin, int64_t end) { sum_columns(begin, end); });
    } else if (results < int64_t{2} * num_threads() && parts_ > 1) {
      for (int64_t i = 0; i < results; ++i) sum_one(i);
    } else {
      parallel_for(results, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Sum sum = 0;
          const Place at = place(i);
          for (int64_t part = 0; part < parts_; ++part) sum += sum_part(at, part);
          put(at.offset[kOut], sum);
        }
      });
    }
  }

 private:
  struct Place {
    int64_t offset[Nest::kOperands] = {};
  };

  static Reduction plan(const ConstView& x, const Dest& y) {
    const ConstView* const inputs[] = {&x};
    return plan_reduction("sum", inputs, 1, y.view);
  }
  Place place(int64_t index) const {
    Place at;
    plan_.kept.add_offset(index, plan_.kept.rank, at.offset);
    return at;
  }
  int64_t part_begin(int64_t part) const { return part * part_length_; }
  int64_t part_end(int64_t part) const { return std::min(n_, (part + 1) * part_length_); }

  void put(int64_t offset, Sum sum) const {
    void* const to =
        static_cast<char*>(y_.view.data) + offset * static_cast<int64_t>(size_of(y_.view.dtype));
    if (std::is_integral_v<Sum> && divisor_ == 1) {
      const auto whole = static_cast<int64_t>(sum);
      put_whole_(&whole, {}, to, y_.write);
    } else {
      const double value = static_cast<double>(sum) / divisor_;
      put_value_(&value, {}, to, y_.write);
    }
  }

  Sum sum_part(const Place& at, int64_t part) const {
    Lanes<Sum> lanes;
    C buffer[Reader<C>::kMost];
    const int64_t most = Reader<C>::kMost;
    each_run(plan_.reduced, at.offset, part_begin(part), part_end(part), most,
             [&](const int64_t* offset, int64_t, int64_t n) {
               lanes.add(x_.read(offset[0], n, buffer), n);
             });
    return lanes.total();
  }

  void sum_one(int64_t index) const {
    const Place at = place(index);
    Sum sums[kMaxParts];
    parallel_for(parts_, std::max<int64_t>(1, kGrain / part_length_),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t part = begin; part < end; ++part) sums[part] = sum_part(at, part);
                 });
    Sum sum = 0;
    for (int64_t part = 0; part < parts_; ++part) sum += sums[part];
    put(at.offset[kOut], sum);
  }

  bool lies_in_columns() const {
    const Nest& kept = plan_.kept;
    const Nest& reduced = plan_.reduced;
    return kept.rank > 0 && reduced.rank > 0 && kept.stride[kept.rank - 1][0] == 1 &&
           kept.size[kept.rank - 1] >= 8 && reduced.stride[reduced.rank - 1][0] != 1;
  }

  void sum_columns(int64_t begin, int64_t end) const {
    Sum lanes[kLanes * kColumns];
    Sum sums[kColumns];
    C buffer[kColumns];
    const Nest& kept = plan_.kept;
    const Nest& reduced = plan_.reduced;
    const int64_t row_stride = reduced.stride[reduced.rank - 1][0];
    for (int64_t index = begin; index < end; ++index) {
      const int64_t column = index % tiles_ * kColumns;
      const int64_t cols = std::min(kColumns, columns_ - column);
      Place at;
      kept.add_offset(index / tiles_ * columns_ + column, kept.rank, at.offset);
      std::fill_n(sums, cols, Sum(0));
      for (int64_t part = 0; part < parts_; ++part) {
        std::fill_n(lanes, kLanes * cols, Sum(0));
        const int64_t first = part_begin(part);
        each_run(reduced, at.offset, first, part_end(part), n_,
                 [&](const int64_t* offset, int64_t j, int64_t n) {
                   if (x_.in_place()) {
                     const auto* rows = static_cast<const C*>(x_.at(offset[0]));
                     return add_rows_to_lanes(rows, row_stride, n, cols, j - first, lanes);
                   }
                   for (int64_t r = 0; r < n; ++r) {
                     const C* row = x_.read_row(offset[0] + r * row_stride, cols, buffer);
                     add_rows_to_lanes(row, cols, 1, cols, j + r - first, lanes);
                   }
                 });
        for (int64_t c = 0; c < cols; ++c) sums[c] += total_of_lanes(lanes + c, cols);
      }
      for (int64_t c = 0; c < cols; ++c) {
        put(at.offset[kOut] + c * kept.stride[kept.rank - 1][kOut], sums[c]);
      }
    }
  }

  Reduction plan_;
  Reader<C> x_;
  Scatter<int64_t> put_whole_;
  Scatter<double> put_value_;
  double divisor_;
  const Dest& y_;
  int64_t n_;
  int64_t part_length_ = 1, parts_ = 0;
  int64_t columns_ = 0, tiles_ = 0;
};

/// Row by row, from the front or from the back, in S = double or int64_t.
template <class S>
void running_sums(const ConstView& x, int dim, bool reverse, const Dest& y) {
  const RowReader<S> in(x, dim, 1);
  const RowWriter<S> out(y, dim, 1);
  const int64_t n = in.length();
  parallel_for(in.rows(), row_grain(n), [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(2 * n) * sizeof(S));
    for (int64_t r = begin; r < end; ++r) {
      const S* const from = in.read(r, scratch.as<S>());
      S* const to = out.place(r, scratch.as<S>() + n);
      S total = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t j = reverse ? n - 1 - i : i;
        to[j] = total += from[j];
      }
      out.put(r, to);
    }
  });
}

}  // namespace

Reduction plan_reduction(const char* op, const ConstView* const* inputs, int count, const View& y) {
  const Loop loop = plan_loop(op, inputs, count, y);
  return {loop.kept, loop.summed()};
}

void sum(const ConstView& x, double divisor, const Dest& y) {
  if (x.dtype == float64) return Summation<double>(x, divisor, y).run();
  if (is_floating(x.dtype)) return Summation<float>(x, divisor, y).run();
  Summation<int64_t>(x, divisor, y).run();
}

void cumsum(const ConstView& x, int dim, bool reverse, const Dest& y) {
  if (is_floating(x.dtype)) return running_sums<double>(x, dim, reverse, y);
  running_sums<int64_t>(x, dim, reverse, y);
}

}  // namespace accrue::kernels::cpu
