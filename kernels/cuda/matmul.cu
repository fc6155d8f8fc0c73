// The matrix product. With split invariance each element is one chain of fused multiply-adds,
// exactly as on the CPU: gemm_tile.cuh. Without, cuBLAS does what it can: blas.cpp.
#include <accrue/core/convert.h>

#include <accrue/kernels/cuda/blas.h>
#include <accrue/kernels/cuda/gemm_tile.cuh>
#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/epilogue_sums.h>
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
  bool is_float32, goes_on, relu;
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
    if (relu && sum <= 0) sum = 0;  // a NaN stays
    if (kIsHalf<T> && is_float32)
      static_cast<float*>(data)[at] = static_cast<float>(sum);
    else
      static_cast<T*>(data)[at] = convert<T>(sum);
  }
};

template <class T>
void run_tiles(const Launcher& on, const ProductPlan& p, const BlasProduct& step, bool relu) {
  const Factor<T> a(step.a, p.batch.a, p.m.a, p.k.a);
  const Factor<T> b(step.b, p.batch.b, p.n.b, p.k.b);
  const Product<T> c{step.c,
                     p.batch.c,
                     p.m.c,
                     p.n.c,
                     step.result == DType::float32,
                     step.adds,
                     relu,
                     static_cast<const T*>(step.bias),
                     step.bias_stride};
  constexpr TileChoice kLargest = sizeof(T) == 4 ? TileChoice::large : TileChoice::medium;
  launch_product<kLargest>(on, "matmul", a, b, c, {p.batch.size, p.m.size, p.n.size, p.k.size});
}

/// What cuBLAS is to compute in the first step of a plan.
BlasProduct whole_product(const ConstView& a, const ConstView& b, const ConstView& bias,
                          const Dest& c) {
  return {a.dtype,      c.view.dtype,
          a.data,       b.data,
          bias.data,    bias.data ? bias.strides[0] : 0,
          c.view.data,  c.write == Write::add,
          c.view.device};
}

/// The product with GELU behind it, where cuBLASLt has them in one.
bool gelu_by_blas(const ConstView& a, const ConstView& b, const Epilogue& e, const Dest& c) {
  const ProductPlan p(a, b, c.view);
  const bool alike = !e.argument.wanted() || e.argument.view.strides == c.view.strides;
  if (split_invariant() || p.outers != 0 || !alike) return false;
  const Launcher on(c.view.device);
  BlasProduct product = whole_product(a, b, e.bias, c);
  product.gelu = true;
  product.argument = e.argument.wanted() ? e.argument.view.data : nullptr;
  return blas_product(p, product);
}

/// c = [relu of] the sums. False if relu is left to others.
template <class T>
bool run(const ConstView& a, const ConstView& b, const ConstView& bias, bool relu, const Dest& c) {
  const ProductPlan p(a, b, c.view);
  const Launcher on(c.view.device);
  const bool any_order = !split_invariant(), one_step = p.outers == 0;
  const BlasProduct whole = whole_product(a, b, bias, c);
  const long result_bytes = static_cast<long>(size_of(c.view.dtype));
  bool applied = false;
  p.steps([&](long at_a, long at_b, long at_c, bool first) {
    BlasProduct step = whole;
    step.a = static_cast<const T*>(a.data) + at_a;
    step.b = static_cast<const T*>(b.data) + at_b;
    step.c = static_cast<char*>(c.view.data) + at_c * result_bytes;
    step.adds |= !first;
    if (any_order && blas_product(p, step)) return;
    applied = relu && one_step;
    run_tiles<T>(on, p, step, applied);
  });
  return applied;
}

}  // namespace

void matmul(const ConstView& a, const ConstView& b, const Epilogue& e, const Dest& c) {
  if (e.f == Unary::gelu_tanh && gelu_by_blas(a, b, e, c)) return;
  const EpilogueSums sums(e, c);
  const DType result = sums.dest().view.dtype;
  const bool relu = e.f == Unary::relu && !e.argument.wanted();
  bool applied = false;
  visit_float(a.dtype, [&]<class T>() {
    const bool fits = result == a.dtype || (kIsHalf<T> && result == DType::float32);
    check<DTypeError>(fits, "matmul: ", a.dtype, " operands cannot give ", result);
    applied = run<T>(a, b, e.bias, relu, sums.dest());
  });
  if (!applied) sums.apply(e, c, unary);
}

}  // namespace accrue::kernels::cuda
