// Scaled dot product attention, without the matrix of scores ever being whole in memory.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

struct AttentionOptions {
  /// Stretches to [.., l, s]. Boolean: true where a query may look; floating: added to the scores.
  /// It gets no gradient.
  Tensor mask = {};
  /// Query i looks at keys 0 .. i only (and where the mask lets it).
  bool is_causal = false;
  /// Of the scores; 0: 1 / √e.
  double scale = 0;
  /// The part of the weights that is dropped; the others grow by 1 / (1 - p). The bits come from
  /// the default generator and depend on the element of [.., l, s] alone.
  double dropout_p = 0;
};

/// y = softmax(scale · q · kᵀ + mask) · v; 0 for a query that may look nowhere.
/// q [.., l, e], k [.., s, e], v [.., s, ev], y [.., l, ev]; the leading dimensions are equal, and
/// strides are free: heads need no permuted copies. Where q's queries lie outside of its heads in
/// memory ([batch, l, heads, e] permuted), so do y's.
///   dv = wᵀ · dy     ds = w · (dy · vᵀ - Σ …)     dq = scale · ds · k     dk = scale · dsᵀ · q
/// Throws ShapeError, DTypeError, DeviceError; ValueError unless 0 <= p <= 1 or for a mask that
/// requires grad.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});

/// Self-attention of `heads` heads for qkv [batch, time, 3 · heads · e], where q, k and v lie one
/// after another in the last dimension, each head within head: the output of one linear layer.
/// y [batch, time, heads · e]. Nothing is copied; backward writes one gradient, whole.
/// Throws what scaled_dot_product_attention throws.
Tensor packed_attention(const Tensor& qkv, int64_t heads, const AttentionOptions& options = {});

}  // namespace accrue
