// A product with a bias and GELU behind it, by cuBLASLt, which applies them before the result is
// written. Its ReLU is left alone: what that makes of NaN is nowhere stated.
#include <algorithm>
#include <bit>

#include <accrue/kernels/cuda/blas_call.h>

namespace accrue::kernels::cuda {
namespace {

/// An object of cuBLASLt, destroyed at the end of its scope.
template <class Handle>
class Owned {
 public:
  Owned(cublasStatus_t (*destroy)(Handle)) : destroy_(destroy) {}
  ~Owned() {
    if (handle_) destroy_(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* out() { return &handle_; }
  operator Handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  cublasStatus_t (*destroy_)(Handle);
};

/// What the address is a multiple of, as far as vectors of loads care.
uint32_t alignment_of(const void* data) {
  return uint32_t{1} << std::min(8, std::countr_zero(reinterpret_cast<uintptr_t>(data)));
}

cublasLtEpilogue_t kind_of(const BlasEpilogue& e) {
  if (!e.gelu) return CUBLASLT_EPILOGUE_BIAS;
  if (e.argument) return e.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  return e.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
}

class Description {
 public:
  Description(BlasHandle& blas, const BlasCall& call, const BlasEpilogue& e) : blas_(blas) {
    const bool is_double = call.compute == CUBLAS_COMPUTE_64F;
    check(lib_.cublasLtMatmulDescCreate(product.out(), call.compute,
                                        is_double ? CUDA_R_64F : CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, call.left.op());
    set(CUBLASLT_MATMUL_DESC_TRANSB, call.right.op());
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, kind_of(e));
    if (e.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, e.bias);
    if (e.argument) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, e.argument);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, call.y.ld);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, call.y.batch);
    }
    lay_out(left, call.left, call.m, call.k, call.batches);
    lay_out(right, call.right, call.k, call.n, call.batches);
    lay_out(y, call.y, call.m, call.n, call.batches);
    check(lib_.cublasLtMatmulPreferenceCreate(preference.out()));
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{blas.workspace_bytes});
    // In place, partial sums would have y's type, of 16 bits perhaps.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(call.left.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(call.right.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(call.result));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(call.result));
  }

 private:
  void check(cublasStatus_t status) const { blas_.check(status); }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    check(lib_.cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value));
  }
  template <class T>
  void prefer(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    check(lib_.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
  }
  void lay_out(Owned<cublasLtMatrixLayout_t>& layout, const BlasMatrix& x, int64_t rows,
               int64_t columns, int64_t batches) {
    if (x.transposed) std::swap(rows, columns);
    check(lib_.cublasLtMatrixLayoutCreate(layout.out(), x.type, static_cast<uint64_t>(rows),
                                          static_cast<uint64_t>(columns), x.ld));
    const auto count = static_cast<int32_t>(batches);
    check(lib_.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                sizeof count));
    check(lib_.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &x.batch, sizeof x.batch));
  }

  BlasHandle& blas_;
  const BlasLibrary& lib_ = blas_.library;

 public:
  Owned<cublasLtMatmulDesc_t> product{lib_.cublasLtMatmulDescDestroy};
  Owned<cublasLtMatrixLayout_t> left{lib_.cublasLtMatrixLayoutDestroy};
  Owned<cublasLtMatrixLayout_t> right{lib_.cublasLtMatrixLayoutDestroy};
  Owned<cublasLtMatrixLayout_t> y{lib_.cublasLtMatrixLayoutDestroy};
  Owned<cublasLtMatmulPreference_t> preference{lib_.cublasLtMatmulPreferenceDestroy};
};

}  // namespace

bool multiply_with(BlasHandle& blas, const BlasCall& call, const BlasEpilogue& epilogue) {
  const bool is_double = call.compute == CUBLAS_COMPUTE_64F;
  const bool argument_fits = call.y.ld % 8 == 0 && alignment_of(epilogue.argument) >= 16;
  if ((epilogue.gelu && is_double) || (epilogue.argument && !argument_fits)) return false;
  const BlasLibrary& lib = blas.library;
  const auto handle = reinterpret_cast<cublasLtHandle_t>(blas.handle);  // one serves as the other
  const Description d(blas, call, epilogue);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t status = lib.cublasLtMatmulAlgoGetHeuristic(
      handle, d.product, d.left, d.right, d.y, d.y, d.preference, 1, &best, &found);
  // Nothing has been launched: what cuBLASLt does not know is left to others.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
  blas.check(status);
  if (found == 0) return false;
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  blas.check(lib.cublasLtMatmul(
      handle, d.product, is_double ? static_cast<const void*>(&one64) : &one, call.left.data,
      d.left, call.right.data, d.right, is_double ? static_cast<const void*>(&zero64) : &zero,
      call.result, d.y, call.result, d.y, &best.algo, blas.workspace, blas.workspace_bytes,
      blas.stream));
  return true;
}

}  // namespace accrue::kernels::cuda
