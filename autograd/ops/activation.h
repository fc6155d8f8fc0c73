// Functions of one number, element by element.
//
// NaN goes in and NaN comes out. At a pole the gradient is 0 where dy is exactly 0, and the true
// infinite value elsewhere. All throw DTypeError unless the tensor is floating point.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

/// y = -x; integers too
Tensor neg(const Tensor& x);
inline Tensor operator-(const Tensor& x) { return neg(x); }
/// y = |x|, with slope 0 at 0; integers too
Tensor abs(const Tensor& x);
/// y = eˣ
Tensor exp(const Tensor& x);
/// y = ln x         dx = dy / x
Tensor log(const Tensor& x);
/// y = √x           dx = dy / 2y
Tensor sqrt(const Tensor& x);
/// y = sin x        dx = dy · cos x
Tensor sin(const Tensor& x);
/// y = cos x        dx = -dy · sin x
Tensor cos(const Tensor& x);
/// y = tanh x       dx = dy · (1 - y²)
Tensor tanh(const Tensor& x);
/// y = 1 / (1 + e⁻ˣ)
/// dx = dy · y · (1 - y)
Tensor sigmoid(const Tensor& x);
/// y = max(x, 0)    dx = dy where y > 0
Tensor relu(const Tensor& x);
/// y = x · sigmoid(x)
Tensor silu(const Tensor& x);

/// y = ln(1 + e^(beta · x)) / beta      dx = dy · sigmoid(beta · x)
/// Throws ValueError unless beta is positive and finite.
Tensor softplus(const Tensor& x, double beta = 1);

enum class GeluApproximation : uint8_t { none, tanh };
/// y = x · Φ(x), with Φ the normal distribution, exact by erf or approximated by tanh
/// (Hendrycks & Gimpel 2016).
Tensor gelu(const Tensor& x, GeluApproximation approximation = GeluApproximation::none);

/// What a layer may end with; gelu is exact, gelu_tanh approximated.
enum class Activation : uint8_t { none, relu, gelu, gelu_tanh };

inline constexpr double kUnbounded = __builtin_inf();
/// y = min(max(x, low), high)    dx = dy where low ≤ x ≤ high
/// Throws ValueError unless low ≤ high.
Tensor clamp(const Tensor& x, double low, double high = kUnbounded);

}  // namespace accrue
