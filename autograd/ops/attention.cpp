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
    check_inputs(q, k, v);
    if (p.scale == 0) p.scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    stretch_mask(q, k);
    Tensor y = empty_result(q, v.size(-1));
    Dims row_shape = q.shape();
    row_shape.erase(q.dim() - 1);
    const Tensor sums = Tensor::empty(row_shape, DType::float64, q.device());
    kernels::attention(q, k, v, mask.defined() ? ConstView(mask) : ConstView{}, p, into(y),
                       into(sums));
    if (q.requires_grad() || k.requires_grad() || v.requires_grad()) {
      saved_q = q, saved_k = k, saved_v = v, saved_mask = mask, lse = sums;
    }
    mask = {};
    return y;
  }

  void backward(const Tensor& dy, GradSink dq, GradSink dk, GradSink dv) {
    kernels::attention_grad(dy, saved_q, saved_k, saved_v, saved_mask, lse, p, into(dq), into(dk),
                            into(dv));
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

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& o) {
  const kernels::AttentionParams p{
      .scale = o.scale,
      .is_causal = o.is_causal,
      .dropout_p = o.dropout_p,
      .bits = o.dropout_p > 0 ? default_generator().next_call() : Philox{}};
  return apply(Attention{o.mask, p}, q, k, v);
}

}  // namespace accrue
