#include <limits>
#include <string>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/support.h>

namespace accrue::ops {

void check_defined(const char* op, const Tensor& x) {
  check<AutogradError>(x.defined(), op,
                       ": a tensor is not defined; it was default-constructed, "
                       "moved from, or is an absent gradient");
}

void check_together(const char* op, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  check<DeviceError>(a.device() == b.device(), op, ": the tensors are on ", a.device(), " and ",
                     b.device(), "; both must be on one device");
}

void check_floating(const char* op, const Tensor& x) {
  check_defined(op, x);
  check<DTypeError>(is_floating(x.dtype()), op, ": the tensor is ", x.dtype(),
                    "; it must be floating point: cast it first");
}

void check_window(const char* op, const char* what, int64_t value, int64_t least) {
  check<ValueError>(value >= least, op, ": the ", what, " is ", value,
                    least > 0 ? "; it must be at least " : "; it must not be negative",
                    least > 0 ? std::to_string(least) : "");
  check<ValueError>(value <= std::numeric_limits<int32_t>::max(), op, ": the ", what, " is ", value,
                    "; it must be below 2^31");
}

Tensor result_of(const char* op, const Tensor& a, const Tensor& b) {
  check_together(op, a, b);
  const DType dtype = promote(a.dtype(), b.dtype());
  if (a.shape() == b.shape()) return Tensor::empty(a.shape(), dtype, a.device());
  return Tensor::empty(broadcast(op, a.shape(), b.shape()), dtype, a.device());
}

Tensor reshaped(const Tensor& x, const Dims& shape) {
  if (const auto view = layout::try_reshape(x.layout(), shape)) return x.alias(*view);
  const Tensor dense = result_of(x);
  kernels::copy(x, into(dense));
  return dense.alias(layout::contiguous(shape));
}

}  // namespace accrue::ops
