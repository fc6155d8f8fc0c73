// How a kernel reads and writes the elements of its operands, one at a time, by their row-major
// index. Two kinds that a kernel's template takes alike:
//
//   Source<C>, Target<C>        any dtype and strides, as numbers of type C = float, double,
//   int64_t DenseSource<T>, DenseTarget<T>   elements of T side by side: what nearly every call has
//
// A target knows its Write, so a kernel's author never asks. Now read: random.cu, the shortest.
#pragma once
#include <accrue/core/convert.h>

#include <accrue/kernels/dest.h>
#include <accrue/kernels/simt/simt.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cuda {

/// From the row-major index of an element to its place. Neighbouring dimensions that lie in memory
/// like one are one.
struct Places {
  int rank = 0;
  long size[kMaxRank] = {};
  long stride[kMaxRank] = {};

  Places() = default;
  // Not inlined, for the host's part of each launch would be mostly this.
  [[gnu::noinline]] Places(const Dims& shape, const Dims& strides) {
    for (int d = 0; d < shape.size(); ++d) push(shape[d], strides[d]);
  }
  /// One more dimension, the innermost yet.
  void push(long n, long step) {
    if (n == 1) return;
    if (rank > 0 && stride[rank - 1] == n * step) {
      size[rank - 1] *= n;
      stride[rank - 1] = step;
    } else {
      size[rank] = n;
      stride[rank++] = step;
    }
  }
  bool dense() const { return rank == 0 || (rank == 1 && stride[0] == 1); }

  ACCRUE_HD long operator()(long i) const {
    long place = 0;
    for (int d = rank - 1; d > 0; --d) {
      const long rest = i / size[d];
      place += (i - rest * size[d]) * stride[d];
      i = rest;
    }
    return rank > 0 ? place + i * stride[0] : 0;
  }
};

/// Element i of `data`, which is of type `t`, as a C.
template <class C>
__device__ C load_as(const void* data, DType t, long i) {
  switch (t) {
    case DType::float32:
      return convert<C>(static_cast<const float*>(data)[i]);
    case DType::float64:
      return convert<C>(static_cast<const double*>(data)[i]);
    case DType::bfloat16:
      return convert<C>(static_cast<const bfloat16*>(data)[i]);
    case DType::float16:
      return convert<C>(static_cast<const float16*>(data)[i]);
    case DType::int64:
      return convert<C>(static_cast<const int64_t*>(data)[i]);
    case DType::int32:
      return convert<C>(static_cast<const int32_t*>(data)[i]);
    case DType::uint8:
      return convert<C>(static_cast<const uint8_t*>(data)[i]);
    default:
      return convert<C>(static_cast<const bool*>(data)[i]);
  }
}

/// a + b; integers wrap around.
template <class C>
__device__ C plus(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

/// a * b; integers wrap around.
template <class C>
__device__ C times(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

/// *out = value, or *out += value; the sum is formed in C and rounded once.
template <class T, class C>
__device__ void put(T* out, C value, Write write) {
  *out = convert<T>(write == Write::add ? plus(convert<C>(*out), value) : value);
}

template <class C>
__device__ void put_as(void* data, DType t, long i, C value, Write write) {
  switch (t) {
    case DType::float32:
      return put(static_cast<float*>(data) + i, value, write);
    case DType::float64:
      return put(static_cast<double*>(data) + i, value, write);
    case DType::bfloat16:
      return put(static_cast<bfloat16*>(data) + i, value, write);
    case DType::float16:
      return put(static_cast<float16*>(data) + i, value, write);
    case DType::int64:
      return put(static_cast<int64_t*>(data) + i, value, write);
    case DType::int32:
      return put(static_cast<int32_t*>(data) + i, value, write);
    case DType::uint8:
      return put(static_cast<uint8_t*>(data) + i, value, write);
    default:
      return put(static_cast<bool*>(data) + i, value, write);
  }
}

template <class C>
struct Source {
  using Number = C;
  const void* data = nullptr;
  DType dtype = DType::float32;
  Places places;

  Source() = default;
  explicit Source(const ConstView& x) : data(x.data), dtype(x.dtype), places(x.shape, x.strides) {}
  /// False for an operand that is not given.
  ACCRUE_HD explicit operator bool() const { return data != nullptr; }
  __device__ C operator[](long i) const { return load_as<C>(data, dtype, places(i)); }
};

template <class C>
struct Target {
  using Number = C;
  void* data = nullptr;
  DType dtype = DType::float32;
  Write write = Write::overwrite;
  Places places;

  Target() = default;
  explicit Target(const Dest& y)
      : data(y.wanted() ? y.view.data : nullptr),
        dtype(y.view.dtype),
        write(y.write),
        places(y.view.shape, y.view.strides) {}
  ACCRUE_HD explicit operator bool() const { return data != nullptr; }
  __device__ void set(long i, C value) const { put_as(data, dtype, places(i), value, write); }
  /// What is there, if it stays: where a sum that goes on from it starts.
  __device__ C start(long i) const {
    return write == Write::add ? load_as<C>(data, dtype, places(i)) : C(0);
  }
  /// Writes a sum that began with start().
  __device__ void finish(long i, C sum) const {
    put_as(data, dtype, places(i), sum, Write::overwrite);
  }
};

template <class T>
struct DenseSource {
  using Number = T;
  const T* data = nullptr;

  DenseSource() = default;
  explicit DenseSource(const ConstView& x) : data(static_cast<const T*>(x.data)) {}
  __device__ T operator[](long i) const { return data[i]; }
};

template <class T>
struct DenseTarget {
  using Number = T;
  T* data = nullptr;
  Write write = Write::overwrite;

  DenseTarget() = default;
  explicit DenseTarget(const Dest& y)
      : data(y.wanted() ? static_cast<T*>(y.view.data) : nullptr), write(y.write) {}
  __device__ void set(long i, T value) const { store(data + i, value, write); }
  __device__ T start(long i) const { return write == Write::add ? data[i] : T(0); }
  __device__ void finish(long i, T sum) const { data[i] = sum; }
};

/// Whether an operand is nothing but elements of T side by side, or is not given at all.
template <class T>
bool is_dense(const ConstView& x) {
  return !x.data || (x.dtype == dtype_of<T>() && Places(x.shape, x.strides).dense());
}
template <class T>
bool is_dense(const Dest& y) {
  return !y.wanted() || is_dense<T>(ConstView(y.view));
}

/// The same memory without its strides: element i is the i-th in memory. For kernels that find
/// their places themselves.
inline ConstView flat(ConstView x) {
  x.shape = {2};
  x.strides = {1};
  return x;
}
inline Dest flat(Dest y) {
  y.view.shape = {2};
  y.view.strides = {1};
  return y;
}

/// Calls f with the kinds of operands that a kernel is made for: f.template operator()<float,
/// DenseSource<float>, DenseTarget<float>>() if all operands are dense float32, else
/// <C, Source<C>, Target<C>> with C = double if `computed` is float64, else float.
template <class F, class... Operands>
void visit_operands(DType computed, F&& f, const Operands&... operands) {
  if (computed == DType::float64)
    return f.template operator()<double, Source<double>, Target<double>>();
  if ((is_dense<float>(operands) && ...))
    return f.template operator()<float, DenseSource<float>, DenseTarget<float>>();
  f.template operator()<float, Source<float>, Target<float>>();
}

}  // namespace accrue::kernels::cuda
