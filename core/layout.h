// Layout: how the elements of a tensor lie in its storage, and the views as pure functions on it.
//
// Nothing here touches memory: a view is a new Layout over the same Storage. The differentiable
// views that users call are in autograd/ops/shape.h and use these.
#pragma once
#include <cstdint>
#include <optional>

#include <accrue/core/dims.h>

namespace accrue {

struct Layout {
  Dims shape;
  Dims strides;        ///< in elements
  int64_t offset = 0;  ///< of the first element, in elements

  int rank() const { return shape.size(); }
  int64_t numel() const { return accrue::numel(shape); }
};

namespace layout {

/// Dense, last dimension fastest.
Layout contiguous(const Dims& shape);
bool is_contiguous(const Layout& x);
/// Whether two different indices reach one element, as in an expanded tensor. Exact for what the
/// views here can make; an interleaving it cannot prove apart counts as overlapping.
bool has_overlap(const Layout& x);

/// Dimensions in a new order: out.shape[i] = x.shape[order[i]].
Layout permute(const Layout& x, const Dims& order);
Layout transpose(const Layout& x, int64_t dim0, int64_t dim1);
/// Elements start, start + step, ... < end of one dimension; Python's rules for negative and
/// oversized ends, step > 0.
Layout slice(const Layout& x, int64_t dim, int64_t start, int64_t end, int64_t step);
/// `length` elements from `start`; both must lie inside.
Layout narrow(const Layout& x, int64_t dim, int64_t start, int64_t length);
/// One index of a dimension, which goes away.
Layout select(const Layout& x, int64_t dim, int64_t index);
/// Size-1 dimensions repeated with stride 0, new ones in front; -1 keeps a size.
Layout expand(const Layout& x, const Dims& shape);
Layout squeeze(const Layout& x, int64_t dim);
/// Drops every dimension of size 1.
Layout squeeze(const Layout& x);
Layout unsqueeze(const Layout& x, int64_t dim);

/// The sizes a reshape asks for, with one -1 worked out. Throws ShapeError if the counts differ.
Dims infer_shape(const char* op, const Dims& from, const Dims& to);
/// The same elements under another shape without a copy, if the strides allow it.
std::optional<Layout> try_reshape(const Layout& x, const Dims& shape);

/// Calls body(offset) for every element in row-major order, x.offset left out.
template <class F>
void for_each_offset(const Layout& x, F&& body) {
  const int64_t n = x.numel();
  if (is_contiguous(x)) {
    for (int64_t i = 0; i < n; ++i) body(i);
    return;
  }
  Dims index = Dims::filled(x.rank(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < n; ++i) {
    body(offset);
    for (int d = x.rank() - 1; d >= 0; --d) {
      offset += x.strides[d];
      if (++index[d] < x.shape[d]) break;
      offset -= index[d] * x.strides[d];
      index[d] = 0;
    }
  }
}

}  // namespace layout
}  // namespace accrue
