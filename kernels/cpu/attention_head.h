// What attention works with: matrices of one head as the matrix product takes them, and rows of
// scores. Internal to attention.cpp.
#pragma once
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <accrue/kernels/attention.h>
#include <accrue/kernels/cpu/gemm.h>
#include <accrue/kernels/cpu/rows.h>
#include <accrue/kernels/cpu/scratch.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cpu {

// The matrices [.., rows, cols] of a tensor, one for each head.
struct Heads {
  RowLayout layout;
  int64_t rows, cols, row_stride, col_stride;

  Heads(const Dims& shape, const Dims& strides)
      : layout(shape, strides, shape.size() - 2, 2),
        rows(shape[shape.size() - 2]),
        cols(shape.back()),
        row_stride(strides[strides.size() - 2]),
        col_stride(strides.back()) {}
  int64_t count() const { return layout.rows; }
  int64_t offset(int64_t head) const { return layout.outer.offset(head); }
};

// to[j] = factor · from[j · stride]
template <class T, class In>
inline void scaled(const In* from, int64_t stride, int64_t n, T factor, T* to) {
  for (int64_t j = 0; j < n; ++j) to[j] = static_cast<T>(from[j * stride]) * factor;
}

// An input, read as T.
class HeadReader {
 public:
  explicit HeadReader(const ConstView& x) : heads_(x.shape, x.strides), x_(x) {}

  int64_t count() const { return heads_.count(); }
  int64_t rows() const { return heads_.rows; }
  int64_t cols() const { return heads_.cols; }

  // to[i, j] = factor · x[first + i, j] of one head, dense.
  template <class T>
  void copy(int64_t head, int64_t first, int64_t rows, double factor, T* to) const {
    visit_float(x_.dtype, [&]<class In>() {
      const In* from =
          static_cast<const In*>(x_.data) + heads_.offset(head) + first * heads_.row_stride;
      for (int64_t i = 0; i < rows; ++i, from += heads_.row_stride, to += heads_.cols) {
        if (heads_.col_stride == 1) {
          scaled(from, 1, heads_.cols, static_cast<T>(factor), to);
        } else {
          scaled(from, heads_.col_stride, heads_.cols, static_cast<T>(factor), to);
        }
      }
    });
  }
  // One head where it lies, or converted into `buffer`.
  template <class T>
  Matrix<const T> matrix(int64_t head, T* buffer) const {
    if (x_.dtype == dtype_of<T>()) {
      return {static_cast<const T*>(x_.data) + heads_.offset(head), heads_.row_stride,
              heads_.col_stride};
    }
    copy(head, 0, heads_.rows, 1, buffer);
    return {buffer, heads_.cols, 1};
  }
  template <class T>
  int64_t buffer_size() const {
    return x_.dtype == dtype_of<T>() ? 0 : heads_.rows * heads_.cols;
  }

 private:
  Heads heads_;
  ConstView x_;
};

// Some rows of one head of a result. Products are added to matrix(), which holds +0 or, if it is
// the destination itself, what that adds to; finish() brings them there if it is not.
template <class T>
class HeadWriter {
 public:
  HeadWriter(const Dest& y, int64_t head, int64_t first, int64_t rows, T* buffer)
      : heads_(y.view.shape, y.view.strides), y_(y), rows_(rows) {
    at_ = heads_.offset(head) + first * heads_.row_stride;
    direct_ = y.view.dtype == dtype_of<T>();
    matrix_ = {direct_ ? static_cast<T*>(y.view.data) + at_ : buffer,
               direct_ ? heads_.row_stride : heads_.cols, direct_ ? heads_.col_stride : 1};
    if (direct_ && y.write == Write::add) return;
    for (int64_t i = 0; i < rows; ++i) {
      T* row = matrix_.data + i * matrix_.row;
      if (matrix_.col == 1) {
        std::fill_n(row, heads_.cols, T(0));
      } else {
        for (int64_t j = 0; j < heads_.cols; ++j) row[j * matrix_.col] = T(0);
      }
    }
  }
  const Matrix<T>& matrix() const { return matrix_; }
  void finish() const {
    if (direct_) return;
    visit_float(y_.view.dtype, [&]<class Out>() {
      Out* to = static_cast<Out*>(y_.view.data) + at_;
      for (int64_t i = 0; i < rows_; ++i) {
        for (int64_t j = 0; j < heads_.cols; ++j) {
          store(to + i * heads_.row_stride + j * heads_.col_stride,
                matrix_.data[i * heads_.cols + j], y_.write);
        }
      }
    });
  }

 private:
  Heads heads_;
  Dest y_;
  int64_t rows_, at_;
  bool direct_;
  Matrix<T> matrix_;
};

// A stack of arrays in one Scratch; sizes are counted first.
template <class T>
class Arrays {
 public:
  explicit Arrays(int64_t size) : scratch_(static_cast<size_t>(size) * sizeof(T)) {}
  T* take(int64_t size) { return std::exchange(next_, next_ + size); }

 private:
  Scratch scratch_;
  T* next_ = scratch_.template as<T>();
};

// Adds the mask of one row to its scores, or makes them -∞. `mask` is [.., l, s].
template <class T>
void add_mask(const ConstView& mask, const Heads& at, int64_t head, int64_t row, int64_t n,
              T* scores) {
  const int64_t offset = at.offset(head) + row * at.row_stride;
  if (mask.dtype == DType::boolean) {
    const bool* from = static_cast<const bool*>(mask.data) + offset;
    for (int64_t j = 0; j < n; ++j) {
      if (!from[j * at.col_stride]) scores[j] = -std::numeric_limits<T>::infinity();
    }
    return;
  }
  visit_float(mask.dtype, [&]<class In>() {
    const In* from = static_cast<const In*>(mask.data) + offset;
    for (int64_t j = 0; j < n; ++j) scores[j] += static_cast<T>(from[j * at.col_stride]);
  });
}

// y = x / (1 - p) where a random number is at least p, else 0; element j's bits are those of
// `index` + j.
template <class T>
void drop(const T* x, int64_t n, int64_t index, const AttentionParams& p, T* y) {
  const auto threshold = static_cast<uint64_t>(p.dropout_p * 0x1p32);
  const T factor = p.dropout_p < 1 ? static_cast<T>(1 / (1 - p.dropout_p)) : T(0);
  PhiloxWords words = p.bits.block(static_cast<uint64_t>(index / 4));
  for (int64_t j = 0; j < n; ++j) {
    const int64_t at = index + j;
    if (at % 4 == 0) words = p.bits.block(static_cast<uint64_t>(at / 4));
    y[j] = words.word[at % 4] >= threshold ? x[j] * factor : T(0);
  }
}

}  // namespace accrue::kernels::cpu
