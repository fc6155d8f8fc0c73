#include <cmath>

#include <accrue/core/random.h>

#include <accrue/kernels/attention.h>

#include <accrue/autograd/ops/attention.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// y = w · v, w = softmax(scale · q · kᵀ + mask)
// dv = wᵀ · dy     ds = w · (dy · vᵀ - Σ …)     dq = scale · ds · k     dk = scale · dsᵀ · q
struct Attention {
  static constexpr const char* name = "scaled_dot_product_attention";
  Tensor mask;
  kernels::AttentionParams p;
  Saved saved_q = {}, saved_k = {}, saved_v = {}, saved_mask = {}, lse = {};

  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v) {
    return attend(q, k, v, q.requires_grad() || k.requires_grad() || v.requires_grad());
  }

  void backward(const Tensor& dy, GradSink dq, GradSink dk, GradSink dv) {
    // Taken in the order in which the kernel writes them: two may be one gradient.
    const Dest to_q = into(dq), to_k = into(dk), to_v = into(dv);
    differentiate(dy, to_q, to_k, to_v);
  }

  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, bool save) {
    check_inputs(q, k, v);
    if (p.scale == 0) p.scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    stretch_mask(q, k);
    Tensor y = empty_result(q, v.size(-1));
    Dims row_shape = q.shape();
    row_shape.erase(q.dim() - 1);
    const Tensor sums = Tensor::empty(row_shape, DType::float64, q.device());
    if (p.dropout_p > 0) p.bits = default_generator().next_call();
    kernels::attention(q, k, v, ops::view_of(mask), p, into(y), into(sums));
    if (save) saved_q = q, saved_k = k, saved_v = v, saved_mask = mask, lse = sums;
    mask = {};
    return y;
  }

  void differentiate(const ConstView& dy, const Dest& dq, const Dest& dk, const Dest& dv) {
    kernels::attention_grad(dy, saved_q, saved_k, saved_v, saved_mask, lse, p, dq, dk, dv);
  }

 private:
  // [batch, heads, l, ev] with l outside of heads in memory, if q is like that.
  static Tensor empty_result(const Tensor& q, int64_t cols) {
    Dims shape = q.shape();
    shape[q.dim() - 1] = cols;
    const int l = q.dim() - 2, heads = q.dim() - 3;
    if (heads < 0 || q.strides()[l] <= q.strides()[heads]) {
      return Tensor::empty(shape, q.dtype(), q.device());
    }
    std::swap(shape[l], shape[heads]);
    const Tensor y = Tensor::empty(shape, q.dtype(), q.device());
    return y.alias(layout::transpose(y.layout(), l, heads));
  }

  void stretch_mask(const Tensor& q, const Tensor& k) {
    if (!mask.defined()) return;
    ops::check_together(name, q, mask);
    check<DTypeError>(mask.dtype() == DType::boolean || is_floating(mask.dtype()), name,
                      ": the mask is ", mask.dtype(),
                      "; it must be bool (true: look) or floating (added to the scores)");
    check<ValueError>(!mask.requires_grad(), name,
                      ": the mask requires grad, but gets none here; detach it, or compose matmul "
                      "and softmax");
    Dims shape = q.shape();
    shape[q.dim() - 1] = k.size(-2);
    const bool fits = mask.dim() <= q.dim() && [&] {
      for (int d = 1; d <= mask.dim(); ++d) {
        if (mask.size(-d) != 1 && mask.size(-d) != shape[q.dim() - d]) return false;
      }
      return true;
    }();
    check<ShapeError>(fits, name, ": the mask has shape ", mask.shape(),
                      "; it must stretch to that of the scores, ", shape);
    mask = mask.alias(layout::expand(mask.layout(), shape));
  }

  void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v) const {
    ops::check_floating(name, q);
    ops::check_together(name, q, k);
    ops::check_together(name, q, v);
    check<DTypeError>(q.dtype() == k.dtype() && q.dtype() == v.dtype(), name, ": q is ", q.dtype(),
                      ", k is ", k.dtype(), ", v is ", v.dtype(), "; they must be the same");
    const auto check_shapes = [&](bool ok, const char* what) {
      check<ShapeError>(ok, name, ": ", what, ": q is ", q.shape(), ", k is ", k.shape(), ", v is ",
                        v.shape());
    };
    check_shapes(q.dim() >= 2 && k.dim() == q.dim() && v.dim() == q.dim(),
                 "q, k and v must have equally many dimensions, two or more");
    for (int d = 0; d < q.dim() - 2; ++d) {
      check_shapes(q.size(d) == k.size(d) && q.size(d) == v.size(d),
                   "the leading dimensions differ; they must be equal");
    }
    check_shapes(q.size(-1) == k.size(-1), "queries and keys must be equally wide");
    check_shapes(k.size(-2) == v.size(-2), "there must be a value for each key");
    check<ValueError>(p.dropout_p >= 0 && p.dropout_p <= 1, name, ": dropout_p is ", p.dropout_p,
                      "; it must be from 0 to 1");
  }
};

// The same for q, k and v that lie beside each other in the last dimension of one tensor, heads
// within each. All are views: nothing is copied or permuted, and the three gradients are written
// where they belong in dqkv.
struct PackedAttention {
  static constexpr const char* name = "packed_attention";
  int64_t heads;
  Attention attention;

  Tensor forward(const Tensor& qkv) {
    ops::check_floating(name, qkv);
    check<ShapeError>(heads > 0 && qkv.dim() == 3 && qkv.size(2) % (3 * heads) == 0, name,
                      ": the input has shape ", qkv.shape(), " for ", heads,
                      " heads; it must be [batch, time, 3 * heads * width]");
    const auto part = [&](int64_t i) { return qkv.alias(part_of(qkv.layout(), i)); };
    const Tensor y = attention.attend(part(0), part(1), part(2), qkv.requires_grad());
    const Tensor rows = y.alias(layout::transpose(y.layout(), 1, 2));
    return ops::reshaped(rows, {qkv.size(0), qkv.size(1), qkv.size(2) / 3});
  }

  void backward(const Tensor& dy, GradSink dqkv) {
    if (!dqkv) return;
    const Dest whole = into(dqkv);
    const auto part = [&](int64_t i) {
      const Layout at = part_of({whole.view.shape, whole.view.strides}, i);
      auto* first = static_cast<char*>(whole.view.data) +
                    at.offset * static_cast<int64_t>(size_of(whole.view.dtype));
      return Dest({first, at.shape, at.strides, whole.view.dtype, whole.view.device}, whole.write);
    };
    const Layout g = by_heads(dy.layout(), heads);
    attention.differentiate(dy.alias(g), part(0), part(1), part(2));
  }

 private:
  // [batch, time, heads * width] as [batch, heads, time, width].
  static Layout by_heads(const Layout& x, int64_t heads) {
    const int64_t width = x.shape[2] / heads;
    const int64_t step = x.strides[2];
    return {{x.shape[0], heads, x.shape[1], width},
            {x.strides[0], width * step, x.strides[1], step},
            x.offset};
  }
  Layout part_of(const Layout& qkv, int64_t i) const {
    const int64_t width = qkv.shape[2] / 3;
    return by_heads(layout::narrow(qkv, 2, i * width, width), heads);
  }
};

kernels::AttentionParams params_of(const AttentionOptions& o) {
  return {.scale = o.scale, .is_causal = o.is_causal, .dropout_p = o.dropout_p};
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& o) {
  return apply(Attention{o.mask, params_of(o)}, q, k, v);
}

Tensor packed_attention(const Tensor& qkv, int64_t heads, const AttentionOptions& o) {
  return apply(PackedAttention{heads, {o.mask, params_of(o)}}, qkv);
}

}  // namespace accrue
