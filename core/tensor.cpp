#include <accrue/core/convert.h>
#include <accrue/core/tensor.h>
#include <accrue/core/transfer.h>

namespace accrue {

Tensor Tensor::empty(const Dims& shape, DType dtype, Device device) {
  const auto element = static_cast<int64_t>(size_of(dtype));
  const int64_t n = checked_numel("empty", shape, element);
  // Before the memory is asked for: the views that a kernel takes next copy the strides by wide
  // loads, which wait for narrow stores that have not reached the cache yet.
  const Dims strides = row_major(shape);
  return Tensor(make_ref<TensorImpl>(make_ref<Storage>(static_cast<size_t>(n * element), device),
                                     shape, strides, dtype));
}

Tensor Tensor::alias(const Layout& layout) const {
  return Tensor(make_ref<TensorImpl>(impl_->storage, layout, impl_->dtype));
}

void Tensor::check_defined(const char* member) const {
  check<AutogradError>(defined(), member, ": the tensor is not defined; it was ",
                       "default-constructed, moved from, or is an absent gradient");
}

double Tensor::item() const {
  check_defined("item");
  check<ShapeError>(numel() == 1, "item: the tensor has shape ", shape(), " and ", numel(),
                    " elements; only one element is one number");
  return to_vector<double>()[0];
}

double Tensor::at(const Dims& index) const {
  check_defined("at");
  check<IndexError>(index.size() == dim(), "at: index ", index, " into shape ", shape(),
                    "; give one number for each dimension");
  Layout element = layout();
  for (int d = 0; d < dim(); ++d) {
    const int64_t n = shape()[d];
    check<IndexError>(index[d] >= -n && index[d] < n, "at: index ", index, " into shape ", shape(),
                      "; number ", d, " must be in [", -n, ", ", n, ")");
    element = layout::select(element, 0, index[d]);
  }
  return alias(element).item();
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  check_defined("to_vector");
  if (!device().is_cpu()) return to_device(*this, Device::cpu()).to_vector<T>();
  std::vector<T> out;
  out.reserve(static_cast<size_t>(numel()));
  visit_any(dtype(), [&]<class S>() {
    const S* x = data<S>();
    layout::for_each_offset(layout(), [&](int64_t at) { out.push_back(convert<T>(x[at])); });
  });
  return out;
}
template std::vector<float> Tensor::to_vector<float>() const;
template std::vector<double> Tensor::to_vector<double>() const;
template std::vector<int64_t> Tensor::to_vector<int64_t>() const;
template std::vector<int32_t> Tensor::to_vector<int32_t>() const;
template std::vector<uint8_t> Tensor::to_vector<uint8_t>() const;
template std::vector<bool> Tensor::to_vector<bool>() const;

}  // namespace accrue
