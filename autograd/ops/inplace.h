// Changes in place, for code outside the tape: optimizers, initialisation, tests.
//
// There is no differentiable in-place operator. Each of these bumps the version counter, so that a
// backward which needs the old values throws instead of using the new ones. All throw before
// anything changes: AutogradError for a tensor that requires grad while the tape records (wrap the
// code in NoGrad), ShapeError if several elements of x share memory or the other does not broadcast
// to x's shape, DTypeError if the result is of a kind that x does not hold (a fraction in an
// integer tensor); copy_ and fill_ convert.
#pragma once
#include <accrue/core/scalar.h>
#include <accrue/core/tensor.h>

namespace accrue {

/// x = source, converted to x's dtype
Tensor& copy_(Tensor& x, const Tensor& source);
/// x = value
Tensor& fill_(Tensor& x, Scalar value);
Tensor& zero_(Tensor& x);
/// x = x + other
Tensor& add_(Tensor& x, const Tensor& other);
Tensor& add_(Tensor& x, Scalar other);
/// x = x - other
Tensor& sub_(Tensor& x, const Tensor& other);
Tensor& sub_(Tensor& x, Scalar other);
/// x = x · other
Tensor& mul_(Tensor& x, const Tensor& other);
Tensor& mul_(Tensor& x, Scalar other);
/// x = x / other
Tensor& div_(Tensor& x, const Tensor& other);
Tensor& div_(Tensor& x, Scalar other);

inline Tensor& operator+=(Tensor& x, const Tensor& other) { return add_(x, other); }
inline Tensor& operator-=(Tensor& x, const Tensor& other) { return sub_(x, other); }
inline Tensor& operator*=(Tensor& x, const Tensor& other) { return mul_(x, other); }
inline Tensor& operator/=(Tensor& x, const Tensor& other) { return div_(x, other); }
inline Tensor& operator+=(Tensor& x, Scalar other) { return add_(x, other); }
inline Tensor& operator-=(Tensor& x, Scalar other) { return sub_(x, other); }
inline Tensor& operator*=(Tensor& x, Scalar other) { return mul_(x, other); }
inline Tensor& operator/=(Tensor& x, Scalar other) { return div_(x, other); }

}  // namespace accrue
