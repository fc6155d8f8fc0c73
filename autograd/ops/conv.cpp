#include <string>

#include <accrue/kernels/conv.h>

#include <accrue/autograd/ops/conv.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

using ops::with_dim;

// y = bias + w ⋆ x    dx = wᵀ ⋆ dy    dw = Σ dy ⋆ x    dbias = Σ dy
// over images of one (conv1d) or two dimensions.
template <int Spatial>
struct Conv {
  static constexpr const char* name = Spatial == 2 ? "conv2d" : "conv1d";
  kernels::ConvParams p;
  Saved saved_x = {}, saved_w = {};

  Tensor forward(const Tensor& x, const Tensor& w, const Tensor& bias) {
    check_inputs(x, w, bias);
    const bool batched = x.dim() == Spatial + 2;
    Dims shape;
    if (batched) shape.push_back(x.size(0));
    shape.push_back(w.size(0));
    for (int d = 0; d < Spatial; ++d) shape.push_back(out_size(x, w, d));
    Tensor y = Tensor::empty(shape, x.dtype(), x.device());
    kernels::conv2d(images(ConstView(x)), kernel(ConstView(w)), ops::view_of(bias), p,
                    images(into(y)));
    if (w.requires_grad()) saved_x = x;
    if (x.requires_grad()) saved_w = w;
    return y;
  }

  void backward(const Tensor& dy, GradSink dx, GradSink dw, GradSink dbias) {
    const ConstView d = images(ConstView(dy));
    if (dx) kernels::conv2d_grad_x(d, kernel(ConstView(saved_w)), p, images(into(dx)));
    if (dw) kernels::conv2d_grad_w(d, images(ConstView(saved_x)), p, kernel(into(dw)));
    if (dbias) kernels::conv2d_grad_bias(d, into(dbias));
  }

 private:
  // [n, c, h, w] of what may lack the first or the third: the kernels know images in batches only.
  static ConstView images(const ConstView& v) {
    const ConstView batched = v.shape.size() == Spatial + 2 ? v : with_dim(v, 0);
    return Spatial == 2 ? batched : with_dim(batched, 2);
  }
  static Dest images(const Dest& d) {
    const Dest batched = d.view.shape.size() == Spatial + 2 ? d : with_dim(d, 0);
    return Spatial == 2 ? batched : with_dim(batched, 2);
  }
  template <class V>
  static V kernel(const V& v) {
    return Spatial == 2 ? v : with_dim(v, 2);
  }

  size_t axis(int d) const { return size_t{2 - Spatial} + static_cast<size_t>(d); }
  static const char* side(int d) { return Spatial == 1 ? "length" : d == 0 ? "height" : "width"; }

  int64_t out_size(const Tensor& x, const Tensor& w, int d) const {
    const int64_t in = x.size(d - Spatial), k = w.size(d - Spatial);
    check<ShapeError>(k >= 1, name, ": the kernel has ", side(d), " ", k,
                      "; it must be at least 1");
    const int64_t padding = p.padding[axis(d)], dilation = p.dilation[axis(d)];
    const int64_t padded = in + 2 * padding, reach = dilation * (k - 1) + 1;
    check<ShapeError>(
        padded >= reach, name, ": the kernel is larger than the input: its effective ", side(d),
        " is ", reach, " (kernel ", k, ", dilation ", dilation, "), the padded input's is ", padded,
        " (input ", in, ", padding ", padding, "); pad more or take a smaller kernel");
    return (padded - reach) / p.stride[axis(d)] + 1;
  }

  void check_inputs(const Tensor& x, const Tensor& w, const Tensor& bias) const {
    ops::check_floating(name, x);
    ops::check_together(name, x, w);
    const char* const last = Spatial == 2 ? ", height, width]" : ", length]";
    check<ShapeError>(x.dim() == Spatial + 2 || x.dim() == Spatial + 1, name, ": x has shape ",
                      x.shape(), "; it must be [batch, channels", last, " or [channels", last);
    check<ShapeError>(w.dim() == Spatial + 2, name, ": w has shape ", w.shape(),
                      "; it must be [out channels, in channels / groups", last);
    check<DTypeError>(w.dtype() == x.dtype(), name, ": x is ", x.dtype(), ", w is ", w.dtype(),
                      "; cast one of them");
    for (int d = 0; d < Spatial; ++d) {
      const size_t a = axis(d);
      ops::check_window(name, "stride", p.stride[a], 1);
      ops::check_window(name, "padding", p.padding[a], 0);
      ops::check_window(name, "dilation", p.dilation[a], 1);
    }
    check<ValueError>(p.groups >= 1, name, ": groups is ", p.groups, "; it must be at least 1");
    const int64_t channels = x.size(-Spatial - 1);
    check<ShapeError>(channels % p.groups == 0 && w.size(0) % p.groups == 0, name, ": ", p.groups,
                      " groups do not divide ", channels, " input and ", w.size(0),
                      " output channels evenly; both must be multiples");
    check<ShapeError>(w.size(1) * p.groups == channels, name, ": x has ", channels, " channels in ",
                      p.groups, " groups, but w takes ", w.size(1), " a group: x is ", x.shape(),
                      ", w is ", w.shape(), "; dimension 1 of w must be channels / groups");
    // The kernels lay images out with their padding, up to a stride more, around x and around dy.
    auto laid_out = static_cast<double>(std::max(channels, w.size(0)));
    for (int d = 0; d < Spatial; ++d) {
      const size_t a = axis(d);
      laid_out *= static_cast<double>(x.size(d - Spatial) + 2 * p.padding[a] + p.stride[a]);
    }
    check<ShapeError>(laid_out < 0x1p48, name, ": the padded input is too large: x is ", x.shape(),
                      ", with padding and stride ", laid_out, " elements an image");
    if (!bias.defined()) return;
    ops::check_together(name, x, bias);
    check<ShapeError>(bias.shape() == Dims{w.size(0)}, name, ": bias has shape ", bias.shape(),
                      "; it must be ", Dims{w.size(0)}, ", one for each output channel");
    check<DTypeError>(bias.dtype() == x.dtype(), name, ": x is ", x.dtype(), ", bias is ",
                      bias.dtype(), "; cast one of them");
  }
};

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv2dOptions& options) {
  return apply(Conv<2>{{options.stride, options.padding, options.dilation, options.groups}}, x, w,
               bias);
}

Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv1dOptions& o) {
  return apply(Conv<1>{{{1, o.stride}, {0, o.padding}, {1, o.dilation}, o.groups}}, x, w, bias);
}

}  // namespace accrue
