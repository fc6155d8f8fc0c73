// The scalar maths of accrue, written once for every backend: each function, its derivative beneath.
//
// A functor is a template on T. T is float or double on a CUDA device and in the reference loops,
// and a vector of them (cpu/simd.h) in the CPU's fast loops; so it uses only + - * /, comparisons,
// where(condition, a, b) and the functions of scalar_math.h, found by the type of their argument.
// A derivative takes dy and what the forward saved: x, or y where that is enough.
//
// To add one: an enumerator, a struct, a line in visit(). The lower part is included again for
// each SIMD target, inside that target's namespace: cpu/elementwise_blocks.cpp says how.
#ifndef ACCRUE_KERNELS_FUNCTORS_H
#define ACCRUE_KERNELS_FUNCTORS_H
#include <accrue/core/error.h>
#include <accrue/kernels/scalar_math.h>

namespace accrue {

/// Numbers that belong to a call: a scalar operand, an exponent, bounds.
struct Params {
  double a = 0, b = 0;
};

enum class Unary : uint8_t {
  identity, neg, abs, sign, exp, log, sqrt, sin, cos, tanh, sigmoid, relu, gelu, gelu_tanh, silu,
  add_scalar, rsub_scalar, mul_scalar, div_scalar, rdiv_scalar, pow_scalar, rpow_scalar, clamp,
  logical_not, isnan
};
enum class Binary : uint8_t {
  add, sub, mul, div, pow, maximum, minimum, eq, ne, lt, le, gt, ge, logical_and, logical_or,
  abs_grad, log_grad, sqrt_grad, sin_grad, cos_grad, tanh_grad, sigmoid_grad, relu_grad, gelu_grad,
  gelu_tanh_grad, silu_grad, rdiv_scalar_grad, pow_scalar_grad, rpow_scalar_grad, clamp_grad,
  div_grad_a, where_a, where_b, squared_error, absolute_error
};
enum class Ternary : uint8_t {
  where, maximum_grad, minimum_grad, div_grad_b, pow_grad_a, pow_grad_b, squared_error_grad,
  absolute_error_grad
};

const char* name_of(Unary f);
const char* name_of(Binary f);
const char* name_of(Ternary f);

}  // namespace accrue
#endif
