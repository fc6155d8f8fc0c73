// Turns views into calls of gemm(): folds batches into rows or into the chain where the strides
// allow it, so that [B, T, K] · [K, N] is one product of B·T rows and its weight gradient is one
// chain over B·T; hands one more batch dimension to gemm, and loops over the rest.
#include <accrue/kernels/cpu/gemm.h>
#include <accrue/kernels/matmul.h>

namespace accrue::kernels::cpu {
namespace {

/// One dimension of the product's loop nest, with what a step along it means for each operand.
struct Axis {
  int64_t size = 1;
  int64_t a = 0, b = 0, c = 0;

  /// Whether `outer` around this is one longer axis.
  bool continues(const Axis& outer) const {
    return outer.a == a * size && outer.b == b * size && outer.c == c * size;
  }
};

struct Plan {
  Axis m, n, k;
  Axis batch;            // handed to gemm
  Axis outer[kMaxRank];  // the rest, outermost first: c == 0 means summed
  int outers = 0;
};

int64_t stride_or_zero(const Dims& shape, const Dims& strides, int d) {
  return d < 0 || shape[d] == 1 ? 0 : strides[d];
}

Plan plan_of(const ConstView& a, const ConstView& b, const View& c) {
  const int ra = a.shape.size();
  const int rb = b.shape.size();
  const int rc = c.shape.size();
  Plan p;
  p.m = {a.shape[ra - 2], a.strides[ra - 2], 0, c.strides[rc - 2]};
  p.n = {b.shape[rb - 1], 0, b.strides[rb - 1], c.strides[rc - 1]};
  p.k = {a.shape[ra - 1], a.strides[ra - 1], b.strides[rb - 2], 0};
  const int batches = std::max({ra, rb, rc}) - 2;
  bool folding_rows = true;
  bool folding_chain = true;
  for (int i = 1; i <= batches; ++i) {  // from the innermost batch dimension outwards
    const int da = ra - 2 - i;
    const int db = rb - 2 - i;
    const int dc = rc - 2 - i;
    const int64_t size = std::max(da >= 0 ? a.shape[da] : 1, db >= 0 ? b.shape[db] : 1);
    const int64_t empty = (da >= 0 && a.shape[da] == 0) || (db >= 0 && b.shape[db] == 0);
    const Axis axis{empty ? 0 : size, stride_or_zero(a.shape, a.strides, da),
                    stride_or_zero(b.shape, b.strides, db), stride_or_zero(c.shape, c.strides, dc)};
    if (axis.size == 1) continue;
    if (axis.size == 0 && axis.c == 0) {  // a sum over no batches is one over no k
      p.k.size = 0;
      continue;
    }
    if (folding_rows && p.m.continues(axis)) {
      p.m.size *= axis.size;
      folding_chain = false;
    } else if (folding_chain && p.k.continues(axis)) {
      p.k.size *= axis.size;
      folding_rows = false;
    } else {
      folding_rows = folding_chain = false;
      if (p.batch.size == 1 && p.outers == 0 && axis.c != 0)
        p.batch = axis;
      else
        p.outer[p.outers++] = axis;
    }
  }
  std::reverse(p.outer, p.outer + p.outers);
  return p;
}

template <class In, class Out>
void run(const Plan& p, const In* a, const In* b, const ConstView& bias, Out* c, Write write) {
  Gemm<In, Out> product{.m = p.m.size, .n = p.n.size, .k = p.k.size};
  product.a = {a, p.m.a, p.k.a, p.batch.a};
  product.b = {b, p.k.b, p.n.b, p.batch.b};
  product.c = {c, p.m.c, p.n.c, p.batch.c};
  product.batches = p.batch.size;
  product.bias = static_cast<const In*>(bias.data);
  product.bias_stride = bias.data ? bias.strides[0] : 0;
  const Start first = write == Write::add ? Start::old : bias.data ? Start::bias : Start::zero;

  int64_t steps = 1;
  for (int i = 0; i < p.outers; ++i) steps *= p.outer[i].size;
  Dims index = Dims::filled(p.outers, 0);
  for (int64_t step = 0; step < steps; ++step) {
    bool fresh = true;  // no earlier step has written here
    product.a.data = a;
    product.b.data = b;
    product.c.data = c;
    for (int i = 0; i < p.outers; ++i) {
      product.a.data += index[i] * p.outer[i].a;
      product.b.data += index[i] * p.outer[i].b;
      product.c.data += index[i] * p.outer[i].c;
      fresh &= p.outer[i].c != 0 || index[i] == 0;
    }
    product.start = fresh ? first : Start::old;
    gemm(product);
    for (int i = p.outers - 1; i >= 0 && ++index[i] == p.outer[i].size; --i) index[i] = 0;
  }
}

template <class In, class Out>
void run_views(const ConstView& a, const ConstView& b, const ConstView& bias, const Dest& c) {
  run(plan_of(a, b, c.view), static_cast<const In*>(a.data), static_cast<const In*>(b.data), bias,
      static_cast<Out*>(c.view.data), c.write);
}

}  // namespace

void matmul(const ConstView& a, const ConstView& b, const ConstView& bias, const Dest& c) {
  visit_float(a.dtype, [&]<class T>() {
    if (c.view.dtype == a.dtype) return run_views<T, T>(a, b, bias, c);
    if constexpr (sizeof(T) == 2)
      if (c.view.dtype == DType::float32) return run_views<T, float>(a, b, bias, c);
    detail::fail<DTypeError>("matmul: ", a.dtype, " operands cannot give ", c.view.dtype);
  });
}

}  // namespace accrue::kernels::cpu
