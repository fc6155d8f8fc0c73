// What operators share: results, and the checks on devices and dtypes that come before them.
#pragma once
#include <accrue/core/factories.h>
#include <accrue/core/scalar.h>

#include <accrue/autograd/op.h>

namespace accrue::ops {

/// Throws DeviceError unless both are on one device, AutogradError if one is not defined.
void check_together(const char* op, const Tensor& a, const Tensor& b);
void check_defined(const char* op, const Tensor& x);
/// Throws DTypeError unless x is floating point.
void check_floating(const char* op, const Tensor& x);

/// For a kernel's size, stride, padding or dilation. Throws ValueError unless `value` is in
/// [least, 2³¹), so that sizes made of them do not overflow.
void check_window(const char* op, const char* what, int64_t value, int64_t least);

/// Uninitialised, for the result of an operator on a and b: their broadcast shape and promoted
/// dtype. Throws ShapeError, DeviceError.
Tensor result_of(const char* op, const Tensor& a, const Tensor& b);
/// Like x, uninitialised and dense.
inline Tensor result_of(const Tensor& x) { return Tensor::empty(x.shape(), x.dtype(), x.device()); }

/// The part of a destination that a function on layouts reaches: an operator that reads a slice of
/// x writes the same slice of dx.
template <class F>
Dest part_of(const Dest& y, F&& view) {
  const Layout part = view(Layout{.shape = y.view.shape, .strides = y.view.strides});
  View at = y.view;
  at.data = static_cast<char*>(at.data) + part.offset * static_cast<int64_t>(size_of(at.dtype));
  at.shape = part.shape;
  at.strides = part.strides;
  return {at, y.write};
}
/// With a dimension of size 1 put in: how a vector becomes a matrix, an image a batch.
template <class AnyView>
AnyView with_dim(AnyView x, int at) {
  x.shape.insert(at, 1);
  x.strides.insert(at, 0);
  return x;
}
inline Dest with_dim(Dest dest, int at) {
  dest.view = with_dim(dest.view, at);
  return dest;
}
/// What kernels take for a tensor that may be absent.
inline ConstView view_of(const Tensor& x) { return x.defined() ? ConstView(x) : ConstView(); }
/// The elements of x in the given shape, outside the tape: a view where the strides allow it, else
/// a copy. REQUIRES: the counts are equal.
Tensor reshaped(const Tensor& x, const Dims& shape);

}  // namespace accrue::ops
