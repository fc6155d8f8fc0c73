// Turns views into calls of gemm(). Now read: kernels/matmul_plan.h for how batches are folded.
#include <accrue/kernels/cpu/gemm.h>
#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/epilogue_sums.h>
#include <accrue/kernels/matmul.h>
#include <accrue/kernels/matmul_plan.h>

namespace accrue::kernels::cpu {
namespace {

template <class In, class Out>
void run_views(const ConstView& a, const ConstView& b, const ConstView& bias, const Dest& c) {
  const ProductPlan p(a, b, c.view);
  Gemm<In, Out> product{.m = p.m.size, .n = p.n.size, .k = p.k.size};
  product.a = {nullptr, p.m.a, p.k.a, p.batch.a};
  product.b = {nullptr, p.k.b, p.n.b, p.batch.b};
  product.c = {nullptr, p.m.c, p.n.c, p.batch.c};
  product.batches = p.batch.size;
  product.bias = static_cast<const In*>(bias.data);
  product.bias_stride = bias.data ? bias.strides[0] : 0;
  const Start start = c.write == Write::add ? Start::old : bias.data ? Start::bias : Start::zero;
  p.steps([&](int64_t at_a, int64_t at_b, int64_t at_c, bool first) {
    product.a.data = static_cast<const In*>(a.data) + at_a;
    product.b.data = static_cast<const In*>(b.data) + at_b;
    product.c.data = static_cast<Out*>(c.view.data) + at_c;
    product.start = first ? start : Start::old;
    gemm(product);
  });
}

}  // namespace

void matmul(const ConstView& a, const ConstView& b, const Epilogue& e, const Dest& c) {
  const EpilogueSums sums(e, c);
  const DType result = sums.dest().view.dtype;
  visit_float(a.dtype, [&]<class T>() {
    if (result == a.dtype) return run_views<T, T>(a, b, e.bias, sums.dest());
    if constexpr (sizeof(T) == 2)
      if (result == DType::float32) return run_views<T, float>(a, b, e.bias, sums.dest());
    detail::fail<DTypeError>("matmul: ", a.dtype, " operands cannot give ", result);
  });
  sums.apply(e, c, unary);
}

}  // namespace accrue::kernels::cpu
