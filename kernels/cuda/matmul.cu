// The matrix product. With split invariance each element is one chain of fused multiply-adds,
// exactly as on the CPU: gemm_tile.cuh. Without, cuBLAS does what it can: blas.cpp.
#include <accrue/core/convert.h>

#include <accrue/kernels/cuda/blas.h>
#include <accrue/kernels/cuda/gemm_tile.cuh>
#include <accrue/kernels/matmul.h>
#include <accrue/kernels/matmul_plan.h>
#include <accrue/kernels/split_invariant.h>

namespace accrue::kernels::cuda {
namespace {

/// A factor: rows of A or columns of B, of any strides.
template <class T>
struct Factor {
  static constexpr Along along = Along::either;
  const T* data;
  long batch, across, chain;  // strides
  bool along_chain;

  Factor(const void* first, long batch_stride, long line_stride, long chain_stride)
      : data(static_cast<const T*>(first)),
        batch(batch_stride),
        across(line_stride),
        chain(chain_stride),
        along_chain(chain_stride == 1) {}

  struct Line {
    const T* data;
    long chain;
    __device__ auto operator()(long k) const {
      if constexpr (kIsHalf<T>)
        return static_cast<float>(data[k * chain]);
      else
        return data[k * chain];
    }
  };
  __device__ Line line(long t, long i) const { return {data + t * batch + i * across, chain}; }
};

/// C, of the factors' dtype T or float32; each element starts from what it holds, from the bias of
/// its column or from +0.
template <class T>
struct Product {
  using Number = std::conditional_t<kIsHalf<T>, float, T>;
  void* data;
  long batch, row, column;
  bool is_float32, goes_on;
  const T* bias;
  long bias_stride;

  __device__ long place(long t, long i, long j) const { return t * batch + i * row + j * column; }
  __device__ Number start(long t, long i, long j) const {
    if (bias) return convert<Number>(bias[j * bias_stride]);
    if (!goes_on) return 0;
    const long at = place(t, i, j);
    if (kIsHalf<T> && is_float32) return static_cast<const float*>(data)[at];
    return convert<Number>(static_cast<const T*>(data)[at]);
  }
  __device__ void finish(long t, long i, long j, Number sum) const {
    const long at = place(t, i, j);
    if (kIsHalf<T> && is_float32)
      static_cast<float*>(data)[at] = static_cast<float>(sum);
    else
      static_cast<T*>(data)[at] = convert<T>(sum);
  }
};

template <class T>
void run_tiles(const Launcher& on, const ProductPlan& p, const BlasProduct& step) {
  const Factor<T> a(step.a, p.batch.a, p.m.a, p.k.a);
  const Factor<T> b(step.b, p.batch.b, p.n.b, p.k.b);
  const Product<T> c{step.c,
                     p.batch.c,
                     p.m.c,
                     p.n.c,
                     step.result == DType::float32,
                     step.adds,
                     static_cast<const T*>(step.bias),
                     step.bias_stride};
  constexpr TileChoice kLargest = sizeof(T) == 4 ? TileChoice::large : TileChoice::medium;
  launch_product<kLargest>(on, "matmul", a, b, c, {p.batch.size, p.m.size, p.n.size, p.k.size});
}

template <class T>
void run(const ConstView& a, const ConstView& b, const ConstView& bias, const Dest& c) {
  const ProductPlan p(a, b, c.view);
  const Launcher on(c.view.device);
  const bool any_order = !split_invariant();
  const long result_bytes = static_cast<long>(size_of(c.view.dtype));
  p.steps([&](long at_a, long at_b, long at_c, bool first) {
    const BlasProduct step{a.dtype,
                           c.view.dtype,
                           static_cast<const T*>(a.data) + at_a,
                           static_cast<const T*>(b.data) + at_b,
                           bias.data,
                           bias.data ? bias.strides[0] : 0,
                           static_cast<char*>(c.view.data) + at_c * result_bytes,
                           !first || c.write == Write::add,
                           c.view.device};
    if (!any_order || !blas_product(p, step)) run_tiles<T>(on, p, step);
  });
}

}  // namespace

void matmul(const ConstView& a, const ConstView& b, const ConstView& bias, const Dest& c) {
  visit_float(a.dtype, [&]<class T>() {
    const bool fits = c.view.dtype == a.dtype || (kIsHalf<T> && c.view.dtype == DType::float32);
    check<DTypeError>(fits, "matmul: ", a.dtype, " operands cannot give ", c.view.dtype);
    run<T>(a, b, bias, c);
  });
}

}  // namespace accrue::kernels::cuda
