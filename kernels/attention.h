// Attention: each query takes a mean of the values, weighted by how well it matches the keys.
//
// q is [.., l, e], k is [.., s, e], v is [.., s, ev], y is [.., l, ev], of any strides; the leading
// dimensions, one index of which is a head here, are the same in all. mask is [.., l, s] or without
// data: boolean, true where a query may look, or a number added to the score. A query that may look
// nowhere gives 0, and gradients of 0.
//
// The scores of a head are made a few rows at a time, in backward again, and never kept. Every
// result is one chain over s, or l, or e; heads do not touch one another: neither the batch nor
// threads show. Now read: cpu/attention.cpp.
#pragma once
#include <accrue/core/philox.h>

#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

struct AttentionParams {
  double scale = 1;
  bool is_causal = false;  // query i sees keys 0 .. i only
  double dropout_p = 0;
  Philox bits = {};  // element (head, i, j) of the weights is dropped where bits32 < p · 2³²
};

namespace cpu {
void attention(const ConstView& q, const ConstView& k, const ConstView& v, const ConstView& mask,
               const AttentionParams& p, const Dest& y, const Dest& lse);
void attention_grad(const ConstView& dy, const ConstView& q, const ConstView& k, const ConstView& v,
                    const ConstView& mask, const ConstView& lse, const AttentionParams& p,
                    const Dest& dq, const Dest& dk, const Dest& dv);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void attention(const ConstView& q, const ConstView& k, const ConstView& v,
                               const ConstView& mask, const AttentionParams& p, const Dest& y,
                               const Dest& lse);
ACCRUE_OPTIONAL void attention_grad(const ConstView& dy, const ConstView& q, const ConstView& k,
                                    const ConstView& v, const ConstView& mask, const ConstView& lse,
                                    const AttentionParams& p, const Dest& dq, const Dest& dk,
                                    const Dest& dv);
}  // namespace cuda

/// y = D(w) · v, w = softmax(scale · q · kᵀ + mask), D drops and rescales by 1 / (1 - p).
/// lse[.., l], dense float64: ln Σ e^score of each query.
inline void attention(const ConstView& q, const ConstView& k, const ConstView& v,
                      const ConstView& mask, const AttentionParams& p, const Dest& y,
                      const Dest& lse) {
  dispatch("attention", y.view.device, cpu::attention, cuda::attention, q, k, v, mask, p, y, lse);
}
/// dv = D(w)ᵀ · dy, dq = ds · k, dk = dsᵀ · q, where ds = scale · w · (g - Σ w · g) and
/// g = D(dy · vᵀ). Those not wanted are left out.
inline void attention_grad(const ConstView& dy, const ConstView& q, const ConstView& k,
                           const ConstView& v, const ConstView& mask, const ConstView& lse,
                           const AttentionParams& p, const Dest& dq, const Dest& dk,
                           const Dest& dv) {
  dispatch("attention_grad", dy.device, cpu::attention_grad, cuda::attention_grad, dy, q, k, v,
           mask, lse, p, dq, dk, dv);
}

}  // namespace accrue::kernels
