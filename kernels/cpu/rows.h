// A tensor of any strides and dtype as rows, for the kernels that work row by row: softmax, losses,
// norms. Such a kernel computes in C, which is double for float64 and float for the rest; a row
// that is C and dense is used where it lies, any other goes through a buffer of the kernel's.
//
// Now read: row_math.h for what is done with a row.
#pragma once
#include <algorithm>
#include <cstddef>

#include <accrue/kernels/cpu/convert.h>

namespace accrue::kernels::cpu {

/// Nested loops over memory, outermost first; those that run on like one longer loop are one.
struct Strided {
  int rank = 0;
  int64_t size[kMaxRank] = {};
  int64_t stride[kMaxRank] = {};

  void push(int64_t n, int64_t step);
  int64_t offset(int64_t index) const;
};

/// Dimensions [first, first + width) of a tensor form its rows, the others number them, both in
/// row-major order.
struct RowLayout {
  RowLayout(const Dims& shape, const Dims& strides, int first, int width);

  int64_t rows = 1, length = 1;
  Strided outer, inner;
  bool dense() const { return inner.rank == 0 || (inner.rank == 1 && inner.stride[0] == 1); }
};

/// Reads rows as C = float, double or int64_t.
template <class C>
class RowReader {
 public:
  RowReader(const ConstView& x, int first, int width)
      : layout_(x.shape, x.strides, first, width),
        data_(static_cast<const std::byte*>(x.data)),
        element_bytes_(static_cast<int64_t>(size_of(x.dtype))),
        gather_(gather_of<C>(x.dtype)),
        in_place_(x.dtype == dtype_of<C>() && layout_.dense()) {}

  int64_t rows() const { return layout_.rows; }
  int64_t length() const { return layout_.length; }
  /// Elements [begin, begin + n) of row r: where they lie, or in `buffer`.
  const C* read(int64_t r, int64_t begin, int64_t n, C* buffer) const {
    const int64_t row = layout_.outer.offset(r);
    if (in_place_) return static_cast<const C*>(at(row + begin));
    for_each_run(
        layout_.inner, begin, n, [&](int64_t done, int64_t run, int64_t offset, int64_t step) {
          gather_(at(row + offset), {.rows = 1, .cols = run, .col_stride = step}, buffer + done);
        });
    return buffer;
  }
  const C* read(int64_t r, C* buffer) const { return read(r, 0, length(), buffer); }

  /// body(done, run, offset, step) for stretches of equal step that make up [begin, begin + n).
  template <class F>
  static void for_each_run(const Strided& inner, int64_t begin, int64_t n, F&& body) {
    const int last = inner.rank - 1;
    const int64_t longest = last < 0 ? 1 : inner.size[last];
    for (int64_t done = 0; done < n;) {
      const int64_t at = begin + done;
      const int64_t run = std::min(n - done, longest - at % longest);
      body(done, run, inner.offset(at), last < 0 ? 1 : inner.stride[last]);
      done += run;
    }
  }

 private:
  const void* at(int64_t offset) const { return data_ + offset * element_bytes_; }

  RowLayout layout_;
  const std::byte* data_;
  int64_t element_bytes_;
  Gather<C> gather_;
  bool in_place_;
};

/// Writes rows of C = float or double to a Dest, as it wants to be written.
template <class C>
class RowWriter {
 public:
  RowWriter(const Dest& y, int first, int width)
      : layout_(y.view.shape, y.view.strides, first, width),
        data_(static_cast<std::byte*>(y.view.data)),
        element_bytes_(static_cast<int64_t>(size_of(y.view.dtype))),
        scatter_(scatter_of<C>(y.view.dtype)),
        write_(y.write),
        in_place_(y.write == Write::overwrite && y.view.dtype == dtype_of<C>() && layout_.dense()) {
  }

  /// Where to put elements begin, ... of row r before put(): their own place, or `buffer`.
  C* place(int64_t r, int64_t begin, C* buffer) const {
    return in_place_ ? static_cast<C*>(at(layout_.outer.offset(r) + begin)) : buffer;
  }
  C* place(int64_t r, C* buffer) const { return place(r, 0, buffer); }
  /// Elements [begin, begin + n) of row r become, or grow by, values[0 .. n).
  void put(int64_t r, int64_t begin, int64_t n, const C* values) const {
    const int64_t row = layout_.outer.offset(r);
    if (in_place_ && values == at(row + begin)) return;
    RowReader<C>::for_each_run(
        layout_.inner, begin, n, [&](int64_t done, int64_t run, int64_t offset, int64_t step) {
          scatter_(values + done, {.rows = 1, .cols = run, .col_stride = step}, at(row + offset),
                   write_);
        });
  }
  void put(int64_t r, const C* values) const { put(r, 0, layout_.length, values); }

 private:
  void* at(int64_t offset) const { return data_ + offset * element_bytes_; }

  RowLayout layout_;
  std::byte* data_;
  int64_t element_bytes_;
  Scatter<C> scatter_;
  Write write_;
  bool in_place_;
};

/// Calls f.template operator()<C>() with the type that a kernel on x of dtype t computes in.
template <class F>
decltype(auto) visit_compute(DType t, F&& f) {
  return t == DType::float64 ? f.template operator()<double>() : f.template operator()<float>();
}

/// Rows that are worth a thread of their own, when each has that many elements.
inline int64_t row_grain(int64_t length) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, length));
}

}  // namespace accrue::kernels::cpu
