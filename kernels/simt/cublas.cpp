// cuBLAS as the executor offers it: handles, and the products of cublas_v2.h.
#include <set>

#include <accrue/kernels/simt/cublas.h>
#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/stream.h>

namespace accrue::simt {
namespace {

std::set<cublasHandle_t>& handles() {
  static auto* const live = new std::set<cublasHandle_t>;
  return *live;
}

bool is_live(const char* call, cublasHandle_t handle) {
  if (handles().count(handle) != 0) return true;
  report_call(call, "the handle is no live one", "a handle that cublasCreate gave");
  return false;
}

}  // namespace

double scale_at(const void* value, cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_64F) return *static_cast<const double*>(value);
  return *static_cast<const float*>(value);
}

cublasStatus_t submit(cublasHandle_t handle, cudaStream_t stream_handle, Gemm gemm) {
  if (!is_live(gemm.call, handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  gemm.device = handle->device;
  if (handle->device != current_device()) {
    if (first_time(Fault::wrong_device, std::hash<std::string>{}(gemm.call))) {
      Finding(Fault::wrong_device, join(gemm.call, ": the handle is of device ", handle->device,
                                        ", the current device is ", current_device()))
          .report("cudaSetDevice to the device of the handle first");
    }
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (const cublasStatus_t status = judge(gemm); status != CUBLAS_STATUS_SUCCESS) return status;
  CUstream_st* stream = find_stream(gemm.call, stream_handle);
  if (!stream) return CUBLAS_STATUS_EXECUTION_FAILED;
  queue(*stream, [gemm] { run(gemm); });
  return outcome() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace accrue::simt

using namespace accrue::simt;  // the functions below are cuBLAS's, and global

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  const Entered entered;
  *handle = new cublasContext{current_device()};
  handles().insert(*handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  const Entered entered;
  if (!is_live("cublasDestroy", handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handles().erase(handle);
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  const Entered entered;
  if (!is_live("cublasSetStream", handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

// The host needs no scratch memory of the device, and has no mode but exact.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  const Entered entered;
  return is_live("cublasSetWorkspace", handle) ? CUBLAS_STATUS_SUCCESS
                                               : CUBLAS_STATUS_NOT_INITIALIZED;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t) {
  const Entered entered;
  return is_live("cublasSetMathMode", handle) ? CUBLAS_STATUS_SUCCESS
                                              : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
    long long stride_a, const void* b, cudaDataType b_type, int64_t ldb, long long stride_b,
    const void* beta, void* c, cudaDataType c_type, int64_t ldc, long long stride_c,
    int64_t batches, cublasComputeType_t compute, cublasGemmAlgo_t) {
  const Entered entered;
  Gemm gemm{.call = "cublasGemm", .compute = compute, .m = m, .n = n, .k = k, .batches = batches};
  gemm.alpha = scale_at(alpha, compute), gemm.beta = scale_at(beta, compute);
  gemm.a = {a, a_type, lda, stride_a, op_a == CUBLAS_OP_T};
  gemm.b = {b, b_type, ldb, stride_b, op_b == CUBLAS_OP_T};
  gemm.c = {c, c_type, ldc, stride_c, false};
  return submit(handle, handle ? handle->stream : nullptr, gemm);
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t op_a,
                               cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
                               const void* b, cudaDataType b_type, int64_t ldb, const void* beta,
                               void* c, cudaDataType c_type, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx_64(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, 0, b,
                                       b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, compute,
                                       algorithm);
}
