#include <cstdlib>
#include <cstring>

#include <accrue/core/cuda/backend.h>
#include <accrue/core/transfer.h>

namespace accrue {
namespace {

/// The elements of storage from the first to the last that a layout reaches.
struct Span {
  int64_t first = 0;
  int64_t count = 0;
};

Span span_of(const Layout& x) {
  if (x.numel() == 0) return {x.offset, 0};
  Span span{x.offset, 1};
  for (int d = 0; d < x.rank(); ++d) {
    const int64_t reach = (x.shape[d] - 1) * x.strides[d];
    if (reach < 0) span.first += reach;
    span.count += std::abs(reach);
  }
  return span;
}

char* at(const Tensor& x, int64_t element) {
  return static_cast<char*>(x.storage().data()) +
         element * static_cast<int64_t>(size_of(x.dtype()));
}

/// The span of x on another device, of x's strides.
Tensor span_on(const Tensor& x, Device device) {
  const Span span = span_of(x.layout());
  const Tensor memory = Tensor::empty({span.count}, x.dtype(), device);
  if (span.count > 0)
    cuda::copy(memory.storage().data(), device, at(x, span.first), x.device(),
               memory.storage().bytes(), false);
  return memory.alias({x.shape(), x.strides(), x.layout().offset - span.first});
}

/// The elements of x, on the host, in row-major order at `to`.
void pack(const Tensor& x, void* to) {
  if (x.numel() == 0) return;
  if (x.is_contiguous()) {
    std::memcpy(to, x.view().data, static_cast<size_t>(x.numel()) * size_of(x.dtype()));
    return;
  }
  visit_any(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* out = static_cast<T*>(to);
    layout::for_each_offset(x.layout(), [&](int64_t i) { *out++ = from[i]; });
  });
}

Tensor packed(const Tensor& x, bool pinned = false) {
  const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
  Tensor out(make_ref<TensorImpl>(make_ref<Storage>(bytes, Device::cpu(), pinned), x.shape(),
                                  row_major(x.shape()), x.dtype()));
  pack(x, out.storage().data());
  return out;
}

}  // namespace

Tensor to_device(const Tensor& x, Device device, bool non_blocking) {
  if (x.device() == device) return x;
  if (device.is_cpu()) {
    const Tensor here = span_on(x, device);
    return here.is_contiguous() ? here : packed(here);
  }
  if (!x.device().is_cpu() && !x.is_contiguous()) return span_on(x, device);
  const Tensor from = x.is_contiguous() ? x : packed(x);
  Tensor there = Tensor::empty(x.shape(), x.dtype(), device);
  cuda::copy(there.storage().data(), device, from.view().data, from.device(),
             there.storage().bytes(), non_blocking && is_pinned(from));
  return there;
}

Tensor pin_memory(const Tensor& x) {
  check<DeviceError>(x.device().is_cpu(), "pin_memory: the tensor is on ", x.device(),
                     "; only memory of the cpu can be pinned");
  check<DeviceError>(cuda_is_available(),
                     "pin_memory: there is no device to pin memory for: ", describe_cuda());
  return is_pinned(x) ? x : packed(x, true);
}

bool is_pinned(const Tensor& x) { return x.storage().is_pinned(); }

HostImage::HostImage(const Tensor& x, Use use) : x_(x) {
  const Span span = span_of(x.layout());
  if (x.device().is_cpu())
    image_ = x;
  else if (use == Use::read || span.count > x.numel())  // what lies between elements stays
    image_ = span_on(x, Device::cpu());
  else
    image_ = Tensor::empty({span.count}, x.dtype(), Device::cpu())
                 .alias({x.shape(), x.strides(), x.layout().offset - span.first});
}

void HostImage::write_back() const {
  if (x_.device().is_cpu()) return;
  const Span span = span_of(x_.layout());
  cuda::copy(at(x_, span.first), x_.device(), image_.storage().data(), Device::cpu(),
             image_.storage().bytes(), false);
}

}  // namespace accrue
