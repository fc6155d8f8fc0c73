#include <accrue/core/transfer.h>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/cast.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// y = x, rounded to another dtype      dx = dy
struct Cast {
  static constexpr const char* name = "cast";
  DType dtype;
  Tensor forward(const Tensor& x) {
    Tensor y = Tensor::empty(x.shape(), dtype, x.device());
    kernels::copy(x, into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::copy(dy, into(dx));
  }
};

// y = x, on another device      dx = dy
struct ToDevice {
  static constexpr const char* name = "to";
  Device device;
  Device home = {};
  Tensor forward(const Tensor& x) {
    home = x.device();
    return to_device(x, device);
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) dx.add(to_device(dy, home));
  }
};

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  ops::check_defined("cast", x);
  if (x.dtype() == dtype) return x;
  if (!is_floating(dtype)) return Cast{dtype}.forward(x);
  return apply(Cast{dtype}, x);
}

Tensor to(const Tensor& x, DType dtype) { return cast(x, dtype); }

Tensor to(const Tensor& x, Device device) {
  ops::check_defined("to", x);
  return x.device() == device ? x : apply(ToDevice{device}, x);
}

}  // namespace accrue
