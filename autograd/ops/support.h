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

/// Uninitialised, for the result of an operator on a and b: their broadcast shape and promoted
/// dtype. Throws ShapeError, DeviceError.
Tensor result_of(const char* op, const Tensor& a, const Tensor& b);
/// Like x, uninitialised and dense.
inline Tensor result_of(const Tensor& x) { return Tensor::empty(x.shape(), x.dtype(), x.device()); }

}  // namespace accrue::ops
