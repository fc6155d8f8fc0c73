// Makers of tensors with known content. Random ones are in random.h.
//
// All throw ShapeError for a negative or too large shape and OutOfMemory, before anything is made.
// Those that take numbers throw ValueError for one that an integer dtype cannot hold.
#pragma once
#include <initializer_list>
#include <span>

#include <accrue/core/tensor.h>

namespace accrue {

/// Uninitialised.
Tensor empty(const Dims& shape, DType dtype = DType::float32, Device device = default_device());
Tensor zeros(const Dims& shape, DType dtype = DType::float32, Device device = default_device());
Tensor ones(const Dims& shape, DType dtype = DType::float32, Device device = default_device());
/// Every element is `value`, converted to dtype.
Tensor full(const Dims& shape, double value, DType dtype = DType::float32,
            Device device = default_device());
Tensor empty_like(const Tensor& x);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);

/// One number: shape [].
Tensor scalar(double value, DType dtype = DType::float32, Device device = default_device());
/// The values in row-major order. Throws ShapeError if their number is not the shape's.
Tensor tensor(std::span<const double> values, const Dims& shape, DType dtype = DType::float32,
              Device device = default_device());
Tensor tensor(std::initializer_list<double> values, DType dtype = DType::float32,
              Device device = default_device());
Tensor tensor(std::initializer_list<double> values, const Dims& shape, DType dtype = DType::float32,
              Device device = default_device());
/// Rows of equal length.
Tensor tensor(std::initializer_list<std::initializer_list<double>> rows,
              DType dtype = DType::float32, Device device = default_device());
/// A copy of numel(shape) elements at `data`, on the host.
template <class T>
Tensor from_data(const T* data, const Dims& shape, Device device = default_device());

/// start, start + step, ... < end. Throws ValueError if step is 0 or leads away from end, and for
/// fractions in an integer dtype.
Tensor arange(double start, double end, double step = 1, DType dtype = DType::int64,
              Device device = default_device());
Tensor arange(int64_t n, DType dtype = DType::int64, Device device = default_device());
/// `steps` numbers from start to end, both included.
Tensor linspace(double start, double end, int64_t steps, DType dtype = DType::float32,
                Device device = default_device());
/// The n by n identity matrix.
Tensor eye(int64_t n, DType dtype = DType::float32, Device device = default_device());

}  // namespace accrue
