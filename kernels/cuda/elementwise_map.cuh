// The kernels behind map(), included by one file for each arity. There are two:
//
//   rows_kernel      an instance for each function with values: operands of 32 or 16 bits whose
//                    rows lie densely or are one element repeated, which is nearly all of training
//   strided_kernel   an instance for each type computed in, with all functions inside: the rest
//
// Now read: elementwise_unary.cu, which is this for one argument.
#pragma once
#include <utility>

#include <accrue/kernels/cuda/elementwise.cuh>

namespace accrue::kernels::cuda {
namespace {

/// An int64_t that wraps around, for the functions of functors.h that integers have.
struct Wrapping {
  int64_t value;

  __device__ explicit Wrapping(int64_t v) : value(v) {}
  __device__ explicit Wrapping(int v) : value(v) {}
  /// What an integer cannot hold becomes the nearest it can.
  __device__ explicit Wrapping(double v) : value(functor::as<int64_t>(v)) {}

  // clang-format off
  __device__ Wrapping operator-() const { return Wrapping(0) - *this; }
  __device__ friend Wrapping operator+(Wrapping a, Wrapping b) { return Wrapping(static_cast<int64_t>(a.bits() + b.bits())); }
  __device__ friend Wrapping operator-(Wrapping a, Wrapping b) { return Wrapping(static_cast<int64_t>(a.bits() - b.bits())); }
  __device__ friend Wrapping operator*(Wrapping a, Wrapping b) { return Wrapping(static_cast<int64_t>(a.bits() * b.bits())); }
  __device__ friend bool operator==(Wrapping a, Wrapping b) { return a.value == b.value; }
  __device__ friend bool operator!=(Wrapping a, Wrapping b) { return a.value != b.value; }
  __device__ friend bool operator<(Wrapping a, Wrapping b) { return a.value < b.value; }
  __device__ friend bool operator>(Wrapping a, Wrapping b) { return a.value > b.value; }
  __device__ friend bool operator<=(Wrapping a, Wrapping b) { return a.value <= b.value; }
  __device__ friend bool operator>=(Wrapping a, Wrapping b) { return a.value >= b.value; }
  __device__ friend Wrapping abs(Wrapping x) { return x < Wrapping(0) ? -x : x; }
  // clang-format on

 private:
  __device__ uint64_t bits() const { return static_cast<uint64_t>(value); }
};

/// f of the first elements of `in`. 0 for an integer that f does not take: nobody asks.
template <class F, class C>
__device__ C apply(F f, const Params& p, const C* in) {
  if constexpr (std::is_same_v<C, int64_t>) {
    if constexpr (F::takes_integers) {
      if constexpr (F::arity == 1) return f(p, Wrapping(in[0])).value;
      if constexpr (F::arity == 2) return f(p, Wrapping(in[0]), Wrapping(in[1])).value;
      if constexpr (F::arity == 3)
        return f(p, Wrapping(in[0]), Wrapping(in[1]), Wrapping(in[2])).value;
    }
    return 0;
  } else {
    if constexpr (F::arity == 1) return f(p, in[0]);
    if constexpr (F::arity == 2) return f(p, in[0], in[1]);
    if constexpr (F::arity == 3) return f(p, in[0], in[1], in[2]);
  }
}

// ---- operands whose rows lie densely or repeat one element ----

/// Four elements, which are read and written by one instruction.
template <class T>
struct alignas(4 * sizeof(T)) Pack {
  T value[4];
};

/// value[j] = x[j] for j < n, where n is at most 4. `packed`: n is 4, and x is aligned.
template <class T>
__device__ void load_pack(const void* data, long place, int n, bool packed, float* value) {
  const T* x = static_cast<const T*>(data) + place;
  if (packed) {
    const Pack<T> pack = *reinterpret_cast<const Pack<T>*>(x);
#pragma unroll
    for (int j = 0; j < 4; ++j) value[j] = convert<float>(pack.value[j]);
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) value[j] = j < n ? convert<float>(x[j]) : 0.0F;
  }
}
template <class T>
__device__ void store_pack(void* data, long place, int n, bool packed, const float* value,
                           Write write) {
  T* y = static_cast<T*>(data) + place;
  if (packed) {
    Pack<T>& there = *reinterpret_cast<Pack<T>*>(y);
    Pack<T> pack = {};
    if (write == Write::add) pack = there;
#pragma unroll
    for (int j = 0; j < 4; ++j) put(pack.value + j, value[j], write);
    there = pack;
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (j < n) put(y + j, value[j], write);
  }
}

/// f(T()) with the type of a dtype of at most 32 bits, floating.
template <class F>
__device__ void visit_short(DType t, F&& f) {
  if (t == DType::float32) return f(float());
  if (t == DType::bfloat16) return f(bfloat16());
  f(float16());
}

/// One thread computes four neighbours of a row at a time. `packed`: rows begin at addresses where
/// four elements may be read at once.
template <class F>
__global__ void rows_kernel(Params p, Operands x, Nest at, long rows, long columns, bool packed) {
  constexpr F f;
  const long packs = (columns + 3) / 4;
  for (long i = thread_number(); i < rows * packs; i += thread_count()) {
    const long row = rows > 1 ? i / packs : 0;
    const long column = 4 * (i - row * packs);
    const int n = columns - column < 4 ? static_cast<int>(columns - column) : 4;
    long offset[Nest::kOperands] = {};
    advance(at, row, at.rank - 1, offset);
    float in[4][F::arity], value[4];
#pragma unroll
    for (int o = 0; o < F::arity; ++o) {
      const bool repeats = at.rank == 0 || at.stride[at.rank - 1][o] == 0;
      visit_short(x.dtype[o], [&]<class T>(T) {
        if (repeats) {
          value[0] = convert<float>(static_cast<const T*>(x.data[o])[offset[o]]);
#pragma unroll
          for (int j = 1; j < 4; ++j) value[j] = value[0];
        } else {
          load_pack<T>(x.data[o], offset[o] + column, n, packed && n == 4, value);
        }
      });
#pragma unroll
      for (int j = 0; j < 4; ++j) in[j][o] = value[j];
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) value[j] = apply(f, p, in[j]);
    visit_short(x.dtype[kOut], [&]<class T>(T) {
      store_pack<T>(x.data[kOut], offset[kOut] + column, n, packed && n == 4, value, x.write);
    });
  }
}

inline bool lies_in_rows(const Operands& x, const Nest& at) {
  for (int o = 0; o < Nest::kOperands; ++o) {
    if (o >= x.inputs && o != kOut) continue;
    if (!is_floating(x.dtype[o]) || x.dtype[o] == DType::float64) return false;
    if (at.rank == 0) continue;
    const long stride = at.stride[at.rank - 1][o];
    if (stride != 1 && (stride != 0 || o == kOut)) return false;
  }
  return true;
}
inline bool rows_are_aligned(const Operands& x, const Nest& at) {
  for (int o = 0; o < Nest::kOperands; ++o) {
    if (at.rank == 0 || at.stride[at.rank - 1][o] == 0) continue;
    if (reinterpret_cast<uintptr_t>(x.data[o]) % (4 * size_of(x.dtype[o])) != 0) return false;
    for (int d = 0; d < at.rank - 1; ++d)
      if (at.stride[d][o] % 4 != 0) return false;
  }
  return true;
}

// ---- operands of any dtype and strides ----

/// f of the first elements of `in`, for an f that is known only as the kernel runs. All threads
/// take the same way.
template <class Op, class C, size_t... I>
__device__ C apply_any(Op f, const Params& p, const C* in, std::index_sequence<I...>) {
  C value = 0;
  static_cast<void>(((static_cast<size_t>(f) == I &&
                      (value = apply(functor::Functor<static_cast<Op>(I)>{}, p, in), true)) ||
                     ...));
  return value;
}

/// One thread computes one element at a time.
template <class C, class Op>
__global__ void strided_kernel(Op f, Params p, Operands x, Nest at, long n) {
  for (long i = thread_number(); i < n; i += thread_count()) {
    long offset[Nest::kOperands] = {};
    advance(at, i, at.rank, offset);
    C in[3] = {};
#pragma unroll
    for (int o = 0; o < 3; ++o)
      if (o < x.inputs) in[o] = load_as<C>(x.data[o], x.dtype[o], offset[o]);
    const C value = apply_any(f, p, in, std::make_index_sequence<static_cast<size_t>(Op::count)>{});
    put_as(x.data[kOut], x.dtype[kOut], offset[kOut], value, x.write);
  }
}

/// map() for one arity.
template <class Op>
void map_any(Op f, const Params& p, DType computed, const Operands& x, const Nest& at) {
  const long n = at.count();
  if (n == 0) return;
  const Launcher on(x.device);
  const char* const name = name_of(f);
  if (computed == DType::float64) {
    on.check(LAUNCH((strided_kernel<double, Op>), blocks_for(n), kThreads, 0, on.stream(), f, p, x,
                    at, n),
             name);
  } else if (computed == DType::int64) {
    on.check(LAUNCH((strided_kernel<int64_t, Op>), blocks_for(n), kThreads, 0, on.stream(), f, p, x,
                    at, n),
             name);
  } else if (functor::is_truth(f) || !lies_in_rows(x, at)) {
    on.check(LAUNCH((strided_kernel<float, Op>), blocks_for(n), kThreads, 0, on.stream(), f, p, x,
                    at, n),
             name);
  } else {
    const long columns = at.rank > 0 ? at.size[at.rank - 1] : 1;
    const long rows = n / columns;
    const bool packed = rows_are_aligned(x, at);
    const unsigned blocks = blocks_for(rows * ((columns + 3) / 4));
    functor::visit(f, [&]<class F>(F) {
      if constexpr (!F::is_truth)
        on.check(LAUNCH((rows_kernel<F>), blocks, kThreads, 0, on.stream(), p, x, at, rows, columns,
                        packed),
                 name);
    });
  }
}

}  // namespace
}  // namespace accrue::kernels::cuda
