// View: what a kernel sees of a tensor. It owns nothing and cannot reach autograd.
#pragma once
#include <accrue/core/device.h>
#include <accrue/core/dims.h>
#include <accrue/core/dtype.h>

namespace accrue {

struct ConstView {
  const void* data = nullptr;  ///< the first element
  Dims shape;
  Dims strides;  ///< in elements
  DType dtype = DType::float32;
  Device device;
};

struct View {
  void* data = nullptr;
  Dims shape;
  Dims strides;
  DType dtype = DType::float32;
  Device device;

  operator ConstView() const { return {data, shape, strides, dtype, device}; }
};

}  // namespace accrue
