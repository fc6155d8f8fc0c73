#include <accrue/core/layout.h>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/index.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cpu {
namespace {

struct Indices {
  const void* data;
  bool wide;  // int64, else int32
  explicit Indices(const ConstView& v) : data(v.data), wide(v.dtype == DType::int64) {}
  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

// The three operands: the one that is addressed by index, the other, and the index itself.
enum Operand { table, rows, index, operands };

struct Offsets {
  int64_t of[operands] = {};
};

// Loops over a shape, each with the operands' strides; neighbours that lie alike are one. The last
// is the longest that can be walked with one stride for each operand: the run.
class Loops {
 public:
  void push(int64_t size, int64_t table_stride, int64_t rows_stride, int64_t index_stride) {
    count_ *= size;
    if (size == 1) return;
    const Offsets stride{{table_stride, rows_stride, index_stride}};
    if (rank_ > 0 && is_continued_by(stride, size)) {
      size_[rank_ - 1] *= size;
      stride_[rank_ - 1] = stride;
      return;
    }
    size_[rank_] = size;
    stride_[rank_++] = stride;
  }
  int64_t count() const { return count_; }
  Offsets run_stride() const { return rank_ > 0 ? stride_[rank_ - 1] : Offsets{}; }

  /// Calls body(offsets, n) for the runs of elements [begin, end), none longer than `most`.
  template <class F>
  void for_each_run(int64_t begin, int64_t end, int64_t most, F&& body) const {
    const int64_t run = rank_ > 0 ? size_[rank_ - 1] : 1;
    while (begin < end) {
      const int64_t n = std::min({end - begin, run - begin % run, most});
      body(at(begin), n);
      begin += n;
    }
  }

 private:
  bool is_continued_by(const Offsets& inner, int64_t size) const {
    const Offsets& outer = stride_[rank_ - 1];
    for (int o = 0; o < operands; ++o)
      if (outer.of[o] != inner.of[o] * size) return false;
    return true;
  }
  Offsets at(int64_t element) const {
    Offsets offsets;
    for (int i = rank_ - 1; i >= 0; --i) {
      const int64_t rest = element / size_[i];
      for (int o = 0; o < operands; ++o)
        offsets.of[o] += (element - rest * size_[i]) * stride_[i].of[o];
      element = rest;
    }
    return offsets;
  }

  int rank_ = 0;
  int64_t count_ = 1;
  int64_t size_[kMaxRank] = {};
  Offsets stride_[kMaxRank] = {};
};

// Numbers are added in float if either is a 16-bit one, else in the type of the destination.
template <class T>
using SumOf = std::conditional_t<is_16bit_float(dtype_of<T>()), float, T>;

// f<To, From>() for equal dtypes, and for a float32 gradient of 16-bit numbers.
template <class F>
void visit_pair(const char* op, DType to, DType from, F&& f) {
  if (to == DType::float32 && from == DType::bfloat16)
    return f.template operator()<float, bfloat16>();
  if (to == DType::float32 && from == DType::float16)
    return f.template operator()<float, float16>();
  check<DTypeError>(to == from, op, ": from ", from, " to ", to, "; the dtypes must be equal");
  visit_any(to, [&]<class T>() { f.template operator()<T, T>(); });
}

template <class T, class S>
SumOf<T> load(const S* x) {
  return static_cast<SumOf<T>>(*x);
}

constexpr int64_t kGrain = 1 << 14;  // elements that are worth a thread

template <class T, class S>
void gather_typed(const Loops& loops, const S* x, int64_t x_step, Indices at, T* y, Write write) {
  const Offsets by = loops.run_stride();
  const bool whole_rows = by.of[index] == 0;
  const bool dense = whole_rows && by.of[table] == 1 && by.of[rows] == 1;
  parallel_for(loops.count(), kGrain, [&](int64_t begin, int64_t end) {
    loops.for_each_run(begin, end, end - begin, [&](const Offsets& from, int64_t n) {
      T* to = y + from.of[rows];
      const S* row = x + from.of[table];
      if (whole_rows) row += at[from.of[index]] * x_step;
      if (dense) {
        for (int64_t i = 0; i < n; ++i) store(to + i, load<T>(row + i), write);
      } else if (whole_rows) {
        for (int64_t i = 0; i < n; ++i)
          store(to + i * by.of[rows], load<T>(row + i * by.of[table]), write);
      } else {
        for (int64_t i = 0; i < n; ++i) {
          const int64_t picked = at[from.of[index] + i * by.of[index]];
          store(to + i * by.of[rows], load<T>(row + i * by.of[table] + picked * x_step), write);
        }
      }
    });
  });
}

// `loops` goes over all dimensions but the indexed one, whose `length` elements are walked in order
// for a block of columns at a time; threads share the columns, so no two write to one element.
struct Walk {
  int64_t length;
  Offsets step;  // along the indexed dimension; of[table] is one row of it
};

template <class T, class S>
void scatter_add_typed(const Loops& loops, const Walk& walk, const S* src, Indices at, int64_t skip,
                       T* y) {
  const Offsets by = loops.run_stride();
  const bool whole_rows = by.of[index] == 0;
  const bool dense = whole_rows && by.of[table] == 1 && by.of[rows] == 1;
  const int64_t block = whole_rows ? 1024 : 32;  // what the near cache holds
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(walk.length, 1), 16);
  parallel_for(loops.count(), grain, [&](int64_t begin, int64_t end) {
    loops.for_each_run(begin, end, block, [&](const Offsets& start, int64_t n) {
      for (int64_t j = 0; j < walk.length; ++j) {
        T* to = y + start.of[table];
        const S* from = src + start.of[rows] + j * walk.step.of[rows];
        const int64_t i0 = start.of[index] + j * walk.step.of[index];
        if (!whole_rows) {
          for (int64_t i = 0; i < n; ++i) {
            const int64_t picked = at[i0 + i * by.of[index]];
            if (picked == skip) continue;
            store(to + i * by.of[table] + picked * walk.step.of[table],
                  load<T>(from + i * by.of[rows]), Write::add);
          }
          continue;
        }
        const int64_t picked = at[i0];
        if (picked == skip) continue;
        to += picked * walk.step.of[table];
        if (dense)
          for (int64_t i = 0; i < n; ++i) store(to + i, load<T>(from + i), Write::add);
        else
          for (int64_t i = 0; i < n; ++i)
            store(to + i * by.of[table], load<T>(from + i * by.of[rows]), Write::add);
      }
    });
  });
}

template <class I>
void check_typed(const char* op, const ConstView& v, int64_t bound) {
  const Layout all{.shape = v.shape, .strides = v.strides};
  const I* values = static_cast<const I*>(v.data);
  const auto inside = [bound](int64_t i) { return i >= 0 && i < bound; };
  bool good = true;
  layout::for_each_offset(all, [&](int64_t at) { good &= inside(values[at]); });
  if (good) return;
  int64_t count = 0;
  layout::for_each_offset(all, [&](int64_t at) {
    if (!inside(values[at])) {
      Dims position = v.shape;
      for (int d = v.shape.size() - 1; d >= 0; --d) {
        position[d] = count % v.shape[d];
        count /= v.shape[d];
      }
      detail::fail<IndexError>(op, ": index ", values[at], " at position ", position,
                               "; it must be in [0, ", bound, ")");
    }
    ++count;
  });
}

}  // namespace

void check_index(const char* op, const ConstView& index, int64_t bound) {
  check<DTypeError>(index.dtype == DType::int64 || index.dtype == DType::int32, op,
                    ": the index is ", index.dtype, "; it must be int64 or int32");
  if (index.dtype == DType::int64)
    check_typed<int64_t>(op, index, bound);
  else
    check_typed<int32_t>(op, index, bound);
}

void gather(const ConstView& x, int dim, const ConstView& index, const Dest& y) {
  Loops loops;
  for (int d = 0; d < index.shape.size(); ++d)
    loops.push(index.shape[d], d == dim ? 0 : x.strides[d], y.view.strides[d], index.strides[d]);
  visit_pair("gather", y.view.dtype, x.dtype, [&]<class T, class S>() {
    gather_typed(loops, static_cast<const S*>(x.data), x.strides[dim], Indices(index),
                 static_cast<T*>(y.view.data), y.write);
  });
}

void scatter_add(const ConstView& src, int dim, const ConstView& index, int64_t skip,
                 const Dest& y) {
  Loops loops;
  for (int d = 0; d < index.shape.size(); ++d)
    if (d != dim) loops.push(index.shape[d], y.view.strides[d], src.strides[d], index.strides[d]);
  const Walk walk{index.shape[dim], {{y.view.strides[dim], src.strides[dim], index.strides[dim]}}};
  visit_pair("scatter_add", y.view.dtype, src.dtype, [&]<class T, class S>() {
    scatter_add_typed(loops, walk, static_cast<const S*>(src.data), Indices(index), skip,
                      static_cast<T*>(y.view.data));
  });
}

}  // namespace accrue::kernels::cpu
