// Tensors as rows, for the kernels that work row by row: softmax, losses, norms. A row belongs to a
// team of threads, blockDim.x of them; a block has blockDim.y teams. Each thread takes four
// neighbouring elements at a time, in one pack of dense floats, or else in four packs of one:
//
//   for_each_row(size, [&](long r, long n) {
//     for_each_pack<X::kPack>(n, [&](long i) { y.row(r).store(i, n, x.row(r).load(i, n, 0)); });
//   });
//
// Which thread takes which element, and when, depends on the length of a row and on nothing else.
// So the bits of a row's result do not depend on how it lies, nor on the batch that it is part of.
// Now read: softmax.cu.
#pragma once
#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/reduce.cuh>

namespace accrue::kernels::cuda {

struct RowCount {
  long rows = 1, length = 1;

  /// Dimensions [first, first + width) form the rows, the others number them.
  RowCount(const Dims& shape, int first, int width) {
    for (int d = 0; d < shape.size(); ++d)
      (d >= first && d < first + width ? length : rows) *= shape[d];
  }
};

struct RowPlaces {
  Places outer, inner;

  [[gnu::noinline]] RowPlaces(const ConstView& x, int first, int width) {
    for (int d = 0; d < x.shape.size(); ++d)
      (d >= first && d < first + width ? inner : outer).push(x.shape[d], x.strides[d]);
  }
};

inline constexpr int kMostTeam = 512;  ///< threads, and so of a block

/// How many threads a row of the length has, how many rows a block, and how many blocks there are.
struct Teams {
  dim3 block;
  unsigned grid;

  explicit Teams(const RowCount& size) {
    unsigned threads = 1;
    if (size.length > 1024) {
      threads = size.length > 8192 ? kMostTeam : 256;
    } else {
      while (threads < 32 && 4 * threads < size.length) threads *= 2;
    }
    block = dim3(threads, threads > 32 ? 1 : kThreads / threads, 1);
    grid = blocks_for(size.rows, block.y);
  }
};

/// f(r, n) for each row r of n elements; every thread of the block comes along, those for whom no
/// row is left with n = 0.
template <class F>
__device__ void for_each_row(const RowCount& size, const F& f) {
  for (long first = static_cast<long>(blockIdx.x) * blockDim.y; first < size.rows;
       first += static_cast<long>(gridDim.x) * blockDim.y) {
    const long r = first + threadIdx.y;
    f(r, r < size.rows ? size.length : 0L);
  }
}

/// f(i) for each four elements i, ..., i + 3 of the thread's in a row of n; the last may be beyond.
template <class F>
__device__ void for_each_four(long n, const F& f) {
  for (long i = 4L * threadIdx.x; i < n; i += 4L * blockDim.x) f(i);
}
/// f(k) for each pack k, ..., k + N - 1 of the four elements that begin at i.
template <int N, class F>
__device__ void for_each_part(long i, long n, const F& f) {
  static_assert(N == 4 || N == 1);
  if constexpr (N == 4) {
    f(i);
  } else {
#pragma unroll 1  // the general case, whose code is large
    for (int j = 0; j < 4; ++j)
      if (i + j < n) f(i + j);
  }
}
template <int N, class F>
__device__ void for_each_pack(long n, const F& f) {
  for_each_four(n, [&](long i) { for_each_part<N>(i, n, f); });
}

/// A fold over the threads of a team.
template <class T, class Fold>
__device__ T team_fold(T v, T nothing, const Fold& fold) {
  if (blockDim.x > 32) return block_fold(v, nothing, fold);
  for (int bits = static_cast<int>(blockDim.x) / 2; bits > 0; bits /= 2)
    v = fold(v, from_lane(v, bits));
  return v;
}
template <class T>
__device__ T team_sum(T v) {
  return team_fold(v, T{}, Add());
}
template <class T>
__device__ T team_max(T v, T least) {
  return team_fold(v, least, Larger());
}

template <class C, int N>
struct Pack {
  C v[N];
  __device__ C& operator[](int j) { return v[j]; }
  __device__ C operator[](int j) const { return v[j]; }
};

/// Rows of any dtype and strides, as numbers of type C.
template <class C>
struct RowSource {
  static constexpr int kPack = 1;
  const void* data;
  DType dtype;
  RowPlaces places;

  RowSource(const ConstView& x, int first, int width)
      : data(x.data), dtype(x.dtype), places(x, first, width) {}
  /// False for an operand that is not given.
  ACCRUE_HD explicit operator bool() const { return data != nullptr; }

  struct Row {
    const RowSource& in;
    long start;
    __device__ C operator[](long i) const { return in.at(start, i); }
    /// The pack at i. `fill` is for elements beyond the n of the row, which a pack of one never
    /// has.
    __device__ Pack<C, 1> load(long i, long /*n*/, C /*fill*/) const { return {(*this)[i]}; }
  };
  __device__ Row row(long r) const { return {*this, start(r)}; }
  /// Where row r starts, and the element i of a row that starts there.
  __device__ long start(long r) const { return places.outer(r); }
  __device__ C at(long start, long i) const {
    return load_as<C>(data, dtype, start + places.inner(i));
  }
};

template <class C>
struct RowTarget {
  static constexpr int kPack = 1;
  void* data;
  DType dtype;
  Write write;
  RowPlaces places;

  RowTarget(const Dest& y, int first, int width)
      : data(y.wanted() ? y.view.data : nullptr),
        dtype(y.view.dtype),
        write(y.write),
        places(y.view, first, width) {}

  struct Row {
    const RowTarget& out;
    long start;
    __device__ void store(long i, long /*n*/, Pack<C, 1> y) const {
      put_as(out.data, out.dtype, start + out.places.inner(i), y[0], out.write);
    }
  };
  __device__ Row row(long r) const { return {*this, places.outer(r)}; }
};

ACCRUE_HD inline bool takes_vectors(const float* x) {
  return reinterpret_cast<uintptr_t>(x) % sizeof(float4) == 0;
}
/// Whether rows that begin at these places of x do so at multiples of 16 bytes.
inline bool takes_vectors(const float* x, const Places& rows) {
  bool all = takes_vectors(x);
  for (int d = 0; d < rows.rank; ++d) all = all && rows.stride[d] % 4 == 0;
  return all;
}

/// Rows of floats side by side: 16 bytes at a time if all rows begin at multiples of them.
struct DenseRowSource {
  static constexpr int kPack = 4;
  const float* data;
  Places outer;
  bool vectors;

  DenseRowSource(const ConstView& x, int first, int width)
      : data(static_cast<const float*>(x.data)),
        outer(RowPlaces(x, first, width).outer),
        vectors(takes_vectors(data, outer)) {}
  ACCRUE_HD explicit operator bool() const { return data != nullptr; }

  struct Row {
    const float* x;
    bool vectors;
    __device__ float operator[](long i) const { return x[i]; }
    __device__ Pack<float, 4> load(long i, long n, float fill) const {
      if (vectors && i + 4 <= n) {
        const float4 v = *reinterpret_cast<const float4*>(x + i);
        return {v.x, v.y, v.z, v.w};
      }
      Pack<float, 4> v;
#pragma unroll
      for (int j = 0; j < 4; ++j) v[j] = i + j < n ? x[i + j] : fill;
      return v;
    }
  };
  __device__ Row row(long r) const { return {data + start(r), vectors}; }
  __device__ long start(long r) const { return outer(r); }
  __device__ float at(long start, long i) const { return data[start + i]; }
};

struct DenseRowTarget {
  static constexpr int kPack = 4;
  float* data;
  Write write;
  Places outer;
  bool vectors;

  DenseRowTarget(const Dest& y, int first, int width)
      : data(y.wanted() ? static_cast<float*>(y.view.data) : nullptr),
        write(y.write),
        outer(RowPlaces(y.view, first, width).outer),
        vectors(takes_vectors(data, outer)) {}

  struct Row {
    float* y;
    Write write;
    bool vectors;
    __device__ void store(long i, long n, Pack<float, 4> v) const {
      if (vectors && i + 4 <= n) {
        auto* const place = reinterpret_cast<float4*>(y + i);
        if (write == Write::add) {
          const float4 old = *place;
          v = {old.x + v[0], old.y + v[1], old.z + v[2], old.w + v[3]};
        }
        *place = make_float4(v[0], v[1], v[2], v[3]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (i + j < n) kernels::store(y + i + j, v[j], write);
      }
    }
  };
  __device__ Row row(long r) const { return {data + outer(r), write, vectors}; }
};

/// Whether the rows are floats side by side, or the operand is not given at all.
inline bool has_dense_rows(const ConstView& x, int first, int width) {
  return !x.data || (x.dtype == DType::float32 && RowPlaces(x, first, width).inner.dense());
}
inline bool has_dense_rows(const Dest& y, int first, int width) {
  return !y.wanted() || has_dense_rows(ConstView(y.view), first, width);
}

/// Calls f with the kinds of operands that a kernel is made for: f.template operator()<float,
/// DenseRowSource, DenseRowTarget>() if all rows are `dense`, else <C, RowSource<C>, RowTarget<C>>
/// with C = double if `computed` is float64, else float.
template <class F>
void visit_row_kinds(DType computed, bool dense, F&& f) {
  if (computed == DType::float64)
    f.template operator()<double, RowSource<double>, RowTarget<double>>();
  else if (dense)
    f.template operator()<float, DenseRowSource, DenseRowTarget>();
  else
    f.template operator()<float, RowSource<float>, RowTarget<float>>();
}
/// For operands whose rows are all formed by the same dimensions.
template <class F, class... Operands>
void visit_rows(DType computed, int first, int width, F&& f, const Operands&... operands) {
  visit_row_kinds(computed, (has_dense_rows(operands, first, width) && ...), f);
}

}  // namespace accrue::kernels::cuda
