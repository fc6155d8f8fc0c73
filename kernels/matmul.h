// The matrix product, batched and broadcasting.
//
// Each element of the result is one chain of fused multiply-adds that starts from the old content
// (Write::add), from the bias or from +0, and walks k in order, then the batches that c lacks. So a
// product over 512 rows equals eight over 64 rows added one after another, bit for bit.
#pragma once
#include <tuple>

#include <accrue/kernels/dispatch.h>
#include <accrue/kernels/functors.h>

namespace accrue::kernels {

/// c = f(bias[n] + Σₖ ...). f takes a sum as it was formed, in float32 where c has 16 bits.
struct Epilogue {
  ConstView bias;             ///< [n], or none
  Unary f = Unary::identity;  ///< identity, relu or gelu_tanh
  Dest argument;              ///< where f's argument goes too, if it is wanted

  auto operands() const { return std::tie(bias, argument); }
};

namespace cpu {
void matmul(const ConstView& a, const ConstView& b, const Epilogue& e, const Dest& c);
}
namespace cuda {
ACCRUE_OPTIONAL void matmul(const ConstView& a, const ConstView& b, const Epilogue& e,
                            const Dest& c);
}

/// c[.., m, n] = Σₖ a[.., m, k] · b[.., k, n]; the batch dimensions broadcast, and those that c
/// lacks or has as 1 are summed in order.
/// REQUIRES: one dtype for a and b; c of it too, or float32 where a and b are 16-bit. With an
/// epilogue, c overwrites and has every batch dimension; e.argument, wanted only with an f, too.
inline void matmul(const ConstView& a, const ConstView& b, const Epilogue& e, const Dest& c) {
  dispatch("matmul", c.view.device, cpu::matmul, cuda::matmul, a, b, e, c);
}
inline void matmul(const ConstView& a, const ConstView& b, const ConstView& bias, const Dest& c) {
  matmul(a, b, Epilogue{.bias = bias, .argument = {}}, c);
}
inline void matmul(const ConstView& a, const ConstView& b, const Dest& c) {
  matmul(a, b, Epilogue{}, c);
}

/// The view with its last two dimensions swapped.
template <class AnyView>
AnyView transposed(AnyView x) {
  const int rank = x.shape.size();
  std::swap(x.shape[rank - 1], x.shape[rank - 2]);
  std::swap(x.strides[rank - 1], x.strides[rank - 2]);
  return x;
}

}  // namespace accrue::kernels
