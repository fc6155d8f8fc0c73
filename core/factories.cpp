#include <cmath>
#include <cstring>
#include <limits>

#include <accrue/core/convert.h>
#include <accrue/core/factories.h>
#include <accrue/core/transfer.h>

namespace accrue {
namespace {

/// An integer dtype takes what its range holds, cut towards 0; bool takes what is not 0.
template <class T>
T checked(const char* op, double value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr auto lowest = static_cast<double>(std::numeric_limits<T>::min());
    const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
    check<ValueError>((value > lowest - 1 || value == lowest) && value < above, op, ": ", value,
                      " does not fit dtype ", dtype_of<T>(), "; its range is [", lowest, ", ",
                      above, ")");
  }
  return convert<T>(value);
}

/// A fresh tensor of f(i), i = 0 .. numel-1, each converted to dtype.
template <class F>
Tensor generate(const char* op, const Dims& shape, DType dtype, Device device, F&& f) {
  checked_numel(op, shape, static_cast<int64_t>(size_of(dtype)));
  Tensor host = Tensor::empty(shape, dtype, Device::cpu());
  visit_any(dtype, [&]<class T>() {
    T* out = host.data<T>();
    const int64_t n = host.numel();
    for (int64_t i = 0; i < n; ++i) out[i] = checked<T>(op, f(i));
  });
  return to_device(host, device);
}

/// A fresh tensor whose every element is `value`.
Tensor constant(const char* op, const Dims& shape, double value, DType dtype, Device device) {
  return generate(op, shape, dtype, device, [value](int64_t) { return value; });
}

}  // namespace

Tensor empty(const Dims& shape, DType dtype, Device device) {
  return Tensor::empty(shape, dtype, device);
}

Tensor full(const Dims& shape, double value, DType dtype, Device device) {
  return constant("full", shape, value, dtype, device);
}

Tensor zeros(const Dims& shape, DType dtype, Device device) {
  checked_numel("zeros", shape, static_cast<int64_t>(size_of(dtype)));
  Tensor host = Tensor::empty(shape, dtype, Device::cpu());
  if (host.numel()) std::memset(host.view().data, 0, host.storage().bytes());
  return to_device(host, device);
}

Tensor ones(const Dims& shape, DType dtype, Device device) {
  return constant("ones", shape, 1, dtype, device);
}
Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.dtype(), x.device()); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype(), x.device()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype(), x.device()); }
Tensor scalar(double value, DType dtype, Device device) {
  return constant("scalar", {}, value, dtype, device);
}

Tensor tensor(std::span<const double> values, const Dims& shape, DType dtype, Device device) {
  check<ShapeError>(static_cast<int64_t>(values.size()) == checked_numel("tensor", shape),
                    "tensor: ", values.size(), " values for shape ", shape, "; it holds ",
                    numel(shape));
  return generate("tensor", shape, dtype, device,
                  [&](int64_t i) { return values[static_cast<size_t>(i)]; });
}

Tensor tensor(std::initializer_list<double> values, const Dims& shape, DType dtype, Device device) {
  return tensor(std::span(values.begin(), values.size()), shape, dtype, device);
}

Tensor tensor(std::initializer_list<double> values, DType dtype, Device device) {
  return tensor(values, {static_cast<int64_t>(values.size())}, dtype, device);
}

Tensor tensor(std::initializer_list<std::initializer_list<double>> rows, DType dtype,
              Device device) {
  std::vector<double> values;
  const size_t columns = rows.size() ? rows.begin()->size() : 0;
  for (const auto& row : rows) {
    check<ShapeError>(row.size() == columns, "tensor: rows of ", columns, " and ", row.size(),
                      " numbers; all rows must be equally long");
    values.insert(values.end(), row.begin(), row.end());
  }
  return tensor(values, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)}, dtype,
                device);
}

template <class T>
Tensor from_data(const T* data, const Dims& shape, Device device) {
  checked_numel("from_data", shape, int64_t{sizeof(T)});
  Tensor host = Tensor::empty(shape, dtype_of<T>(), Device::cpu());
  if (host.numel()) std::memcpy(host.view().data, data, host.storage().bytes());
  return to_device(host, device);
}
template Tensor from_data(const float*, const Dims&, Device);
template Tensor from_data(const double*, const Dims&, Device);
template Tensor from_data(const bfloat16*, const Dims&, Device);
template Tensor from_data(const float16*, const Dims&, Device);
template Tensor from_data(const int64_t*, const Dims&, Device);
template Tensor from_data(const int32_t*, const Dims&, Device);
template Tensor from_data(const uint8_t*, const Dims&, Device);
template Tensor from_data(const bool*, const Dims&, Device);

Tensor arange(double start, double end, double step, DType dtype, Device device) {
  check<ValueError>(std::isfinite(start) && std::isfinite(end) && std::isfinite(step) &&
                        step != 0 && (end - start) / step >= 0,
                    "arange: from ", start, " to ", end, " by ", step,
                    "; the step must be finite, not 0, and lead from start to end");
  check<ValueError>(is_floating(dtype) || (std::trunc(start) == start && std::trunc(step) == step),
                    "arange: from ", start, " to ", end, " by ", step, " is not made of integers, ",
                    "but the dtype is ", dtype, "; give a floating point dtype");
  const double n = std::ceil((end - start) / step);
  check<ShapeError>(n < 0x1p60, "arange: from ", start, " to ", end, " by ", step, " has ", n,
                    " elements; their number must fit in 60 bits");
  return generate("arange", {static_cast<int64_t>(n)}, dtype, device,
                  [=](int64_t i) { return start + static_cast<double>(i) * step; });
}

Tensor arange(int64_t n, DType dtype, Device device) {
  return arange(0, static_cast<double>(n), 1, dtype, device);
}

Tensor linspace(double start, double end, int64_t steps, DType dtype, Device device) {
  check<ShapeError>(steps >= 0, "linspace: ", steps, " steps; there must be 0 or more");
  const double gap = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  return generate("linspace", {steps}, dtype, device, [=](int64_t i) {
    return i + 1 == steps && steps > 1 ? end : start + static_cast<double>(i) * gap;
  });
}

Tensor eye(int64_t n, DType dtype, Device device) {
  return generate("eye", {n, n}, dtype, device,
                  [n](int64_t i) { return i / n == i % n ? 1.0 : 0.0; });
}

}  // namespace accrue
