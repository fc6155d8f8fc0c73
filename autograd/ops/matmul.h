// Matrix products. Exactness: every element is one chain of fused multiply-adds in the order of k,
// so it depends on its own row and column only, and gradients of a batch equal the accumulated
// gradients of its pieces bit for bit. See kernels/matmul.h.
#pragma once
#include <accrue/autograd/ops/activation.h>

namespace accrue {

/// y = a · b over the last two dimensions; the others are batches and broadcast. A vector on the
/// left is a row, on the right a column, and its dimension goes away again.
/// da = dy · bᵀ    db = aᵀ · dy
/// Throws ShapeError if the inner sizes differ, DTypeError unless both have one floating dtype.
Tensor matmul(const Tensor& a, const Tensor& b);

/// y = f(x · weightᵀ + bias), for x [.., in], weight [out, in] and bias [out] or none. The bias is
/// where the chains start.
/// dz = dy · f'(z)    dx = dz · weight    dweight = dzᵀ · x    dbias = Σ dz
/// The numbers are those of linear() and then f, except that gelu_tanh takes z unrounded where y
/// has 16 bits, and on a CUDA device may be cuBLASLt's own. relu keeps y alone; relu and gelu_tanh
/// can be done there as y is written, gelu is an operator of its own. Throws ShapeError and
/// DTypeError as matmul().
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              Activation f = Activation::none);

}  // namespace accrue
