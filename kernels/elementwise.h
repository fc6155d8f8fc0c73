// Elementwise kernels. All of them broadcast their inputs, convert between dtypes on the way, and
// sum over the dimensions that the destination lacks: which is the backward of broadcasting.
//
// That sum is a chain along the first summed dimension that starts from the old content when the
// destination adds; so eight batches of six rows added one after another give, bit for bit, what
// forty-eight rows give at once.
#pragma once
#include <accrue/kernels/dispatch.h>
#include <accrue/kernels/functors.h>

namespace accrue::kernels {

namespace cpu {
void fill(double value, const Dest& y);
void unary(Unary f, const Params& p, const ConstView& x, const Dest& y);
void binary(Binary f, const Params& p, const ConstView& a, const ConstView& b, const Dest& y);
void ternary(Ternary f, const Params& p, const ConstView& a, const ConstView& b, const ConstView& c,
             const Dest& y);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void fill(double value, const Dest& y);
ACCRUE_OPTIONAL void unary(Unary f, const Params& p, const ConstView& x, const Dest& y);
ACCRUE_OPTIONAL void binary(Binary f, const Params& p, const ConstView& a, const ConstView& b,
                            const Dest& y);
ACCRUE_OPTIONAL void ternary(Ternary f, const Params& p, const ConstView& a, const ConstView& b,
                             const ConstView& c, const Dest& y);
}  // namespace cuda

/// y = value
inline void fill(double value, const Dest& y) {
  dispatch("fill", y.view.device, cpu::fill, cuda::fill, value, y);
}
/// y = f(x)
inline void unary(Unary f, const ConstView& x, const Dest& y, const Params& p = {}) {
  dispatch(name_of(f), y.view.device, cpu::unary, cuda::unary, f, p, x, y);
}
/// y = f(a, b) over the broadcast of a and b
inline void binary(Binary f, const ConstView& a, const ConstView& b, const Dest& y,
                   const Params& p = {}) {
  dispatch(name_of(f), y.view.device, cpu::binary, cuda::binary, f, p, a, b, y);
}
/// y = f(a, b, c) over the broadcast of a, b and c
inline void ternary(Ternary f, const ConstView& a, const ConstView& b, const ConstView& c,
                    const Dest& y, const Params& p = {}) {
  dispatch(name_of(f), y.view.device, cpu::ternary, cuda::ternary, f, p, a, b, c, y);
}
/// y = x, converted to y's dtype
inline void copy(const ConstView& x, const Dest& y) { unary(Unary::identity, x, y); }

}  // namespace accrue::kernels
