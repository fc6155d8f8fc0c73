// + - * / and their relatives, with NumPy's broadcasting. The backward of broadcasting, a sum over
// the repeated dimensions, happens inside the kernel that makes the gradient.
//
// The result's dtype is promote() of the inputs'; a number beside a tensor never widens it. All
// throw ShapeError if the shapes do not broadcast and DeviceError if the devices differ.
#pragma once
#include <accrue/core/scalar.h>
#include <accrue/core/tensor.h>

namespace accrue {

/// y = a + b
Tensor add(const Tensor& a, const Tensor& b);
/// y = a - b
Tensor sub(const Tensor& a, const Tensor& b);
/// y = a · b
Tensor mul(const Tensor& a, const Tensor& b);
/// y = a / b; integers give float32. Where dy is exactly 0 the gradients are 0, also at b = 0.
Tensor div(const Tensor& a, const Tensor& b);
/// y = aᵇ. Where dy is exactly 0 the gradients are 0; db is 0 at a = 0, b ≥ 0.
Tensor pow(const Tensor& a, const Tensor& b);
/// The larger; NaN if either is NaN. Equal elements share the gradient evenly.
Tensor maximum(const Tensor& a, const Tensor& b);
/// The smaller; NaN if either is NaN. Equal elements share the gradient evenly.
Tensor minimum(const Tensor& a, const Tensor& b);

Tensor add(const Tensor& a, Scalar b);
Tensor sub(const Tensor& a, Scalar b);
Tensor sub(Scalar a, const Tensor& b);
Tensor mul(const Tensor& a, Scalar b);
Tensor div(const Tensor& a, Scalar b);
Tensor div(Scalar a, const Tensor& b);
/// y = xᵇ    dx = dy · b · xᵇ⁻¹, which is 0 for b = 0
Tensor pow(const Tensor& x, Scalar exponent);
/// y = aˣ    dx = dy · y · ln a
Tensor pow(Scalar base, const Tensor& x);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(Scalar a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(Scalar a, const Tensor& b) { return div(a, b); }

}  // namespace accrue
