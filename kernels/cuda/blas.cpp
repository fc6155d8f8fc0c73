// A product's strides as BLAS's flags. BLAS stores a matrix column by column, so a row-major C is
// its Cᵀ = Bᵀ · Aᵀ; transposed operands cost nothing but a flag.
#include <algorithm>
#include <optional>
#include <utility>

#include <accrue/kernels/cuda/blas.h>
#include <accrue/kernels/cuda/blas_call.h>
#include <accrue/kernels/tf32.h>

namespace accrue::kernels::cuda {
namespace {

cudaDataType type_of(DType t) {
  switch (t) {
    case DType::float64:
      return CUDA_R_64F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    case DType::float16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t compute_of(DType t) {
  if (t == DType::float64) return CUBLAS_COMPUTE_64F;
  return t == DType::float32 && allow_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// One direction of a matrix: how long, and how far its neighbours are apart.
struct Side {
  int64_t size, stride;
};

/// The matrix with such columns and rows, if BLAS can take it.
std::optional<BlasMatrix> matrix(const void* data, DType t, Side down, Side across, int64_t batch) {
  const auto fits = [](Side along, Side lines) {
    return (along.stride == 1 || along.size == 1) &&
           (lines.stride >= along.size || lines.size == 1);
  };
  const auto ld = [](Side along, Side lines) {
    return std::max<int64_t>({1, along.size, lines.size == 1 ? 1 : lines.stride});
  };
  if (fits(down, across)) return BlasMatrix{data, type_of(t), false, ld(down, across), batch};
  if (fits(across, down)) return BlasMatrix{data, type_of(t), true, ld(across, down), batch};
  return std::nullopt;
}

/// Empty where BLAS cannot take it.
std::optional<BlasCall> call_of(const ProductPlan& plan, const BlasProduct& p) {
  const Side m{plan.m.size, plan.m.c}, n{plan.n.size, plan.n.c};
  const auto left =
      matrix(p.a, p.factors, {m.size, plan.m.a}, {plan.k.size, plan.k.a}, plan.batch.a);
  const auto right =
      matrix(p.b, p.factors, {plan.k.size, plan.k.b}, {n.size, plan.n.b}, plan.batch.b);
  const auto y = matrix(p.c, p.result, n, m, plan.batch.c);
  if (!left || !right || !y) return std::nullopt;
  BlasCall call{m.size, n.size, plan.k.size, plan.batch.size, *left,
                *right, *y,     p.c,         p.adds,          compute_of(p.factors)};
  if (!y->transposed) {  // row-major: as Cᵀ
    std::swap(call.m, call.n);
    std::swap(call.left, call.right);
    call.left.transposed = !call.left.transposed;
    call.right.transposed = !call.right.transposed;
  }
  return call;
}

}  // namespace

bool blas_product(const ProductPlan& plan, const BlasProduct& p) {
  if (plan.m.size == 0 || plan.n.size == 0 || plan.batch.size == 0) return true;
  if (plan.k.size == 0) return false;
  const std::optional<BlasCall> call = call_of(plan, p);
  if (!call) return false;
  const bool plain = !p.bias && !p.gelu;
  const bool bias_fits = !p.bias || p.bias_stride == 1 || plan.n.size == 1;
  if (!plain && (p.result != p.factors || call->y.transposed || !bias_fits)) return false;
  const std::shared_ptr<BlasHandle> blas = blas_handle(p.device);
  if (!blas) return false;
  const std::lock_guard turn(blas->turn);
  if (!plain) return multiply_with(*blas, *call, {p.bias, p.gelu, p.argument});
  multiply(*blas, *call);
  return true;
}

void multiply(BlasHandle& blas, const BlasCall& call) {
  const float one = 1, beta = call.adds ? 1 : 0;
  const double one64 = 1, beta64 = beta;
  const bool is_double = call.compute == CUBLAS_COMPUTE_64F;
  const void* alpha_at = is_double ? static_cast<const void*>(&one64) : &one;
  const void* beta_at = is_double ? static_cast<const void*>(&beta64) : &beta;
  const BlasMatrix &l = call.left, &r = call.right, &y = call.y;
  blas.check(call.batches == 1
                 ? blas.library.cublasGemmEx_64(blas.handle, l.op(), r.op(), call.m, call.n, call.k,
                                                alpha_at, l.data, l.type, l.ld, r.data, r.type,
                                                r.ld, beta_at, call.result, y.type, y.ld,
                                                call.compute, CUBLAS_GEMM_DEFAULT)
                 : blas.library.cublasGemmStridedBatchedEx_64(
                       blas.handle, l.op(), r.op(), call.m, call.n, call.k, alpha_at, l.data,
                       l.type, l.ld, l.batch, r.data, r.type, r.ld, r.batch, beta_at, call.result,
                       y.type, y.ld, y.batch, call.batches, call.compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace accrue::kernels::cuda
