// cuBLASLt as the executor offers it: products described by objects, with a bias and GELU behind
// them.
#include <cstring>
#include <memory>

#include <cublasLt.h>

#include <accrue/kernels/simt/cublas.h>
#include <accrue/kernels/simt/executor.h>

struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  void* inside = nullptr;  // the auxiliary matrix: GELU's argument
  int64_t inside_ld = 0, inside_batch = 0;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batches = 1;
  int64_t batch = 0;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace = 0;
  uint32_t reductions = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};  // of A, B, C and D
};

namespace {

// An attribute has a size, which the caller states again.
template <class T>
cublasStatus_t set(T& attribute, const void* value, size_t bytes) {
  if (!value || bytes != sizeof attribute) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&attribute, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// An epilogue is a set of bits.
bool has(const cublasLtMatmulDescOpaque_t& desc, int bit) { return (desc.epilogue & bit) != 0; }
constexpr int kBias = CUBLASLT_EPILOGUE_BIAS, kGelu = CUBLASLT_EPILOGUE_GELU,
              kKeepsInside = CUBLASLT_EPILOGUE_GELU_AUX & ~CUBLASLT_EPILOGUE_GELU;

bool is_known(const cublasLtMatmulDescOpaque_t& desc) {
  const int others = desc.epilogue & ~(CUBLASLT_EPILOGUE_DEFAULT | kBias | kGelu | kKeepsInside);
  const bool gelu_fits = !has(desc, kGelu) || desc.compute != CUBLAS_COMPUTE_64F;
  return others == 0 && gelu_fits && (has(desc, kGelu) || !has(desc, kKeepsInside));
}

}  // namespace

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t) {
  *desc = new cublasLtMatmulDescOpaque_t{compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(desc->op_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(desc->op_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(desc->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return set(desc->inside, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return set(desc->inside_ld, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return set(desc->inside_batch, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(layout->batches, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(layout->batch, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(preference->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return set(preference->reductions, value, bytes);
    default:
      return set(preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                 value, bytes);
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  *found = is_known(*desc) && wanted > 0 ? 1 : 0;
  if (*found != 0) {
    results[0] = {};
    for (int i = 0; i < 4; ++i) results[0].algo.data[i] = preference->alignment[i];
  }
  return *found != 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t,
                              cudaStream_t stream) {
  using namespace accrue::simt;
  const Entered entered;
  const bool op_a = desc->op_a == CUBLAS_OP_T, op_b = desc->op_b == CUBLAS_OP_T;
  const uint64_t k = op_a ? a_layout->rows : a_layout->columns;
  const bool agree = (op_a ? a_layout->columns : a_layout->rows) == d_layout->rows &&
                     (op_b ? b_layout->rows : b_layout->columns) == d_layout->columns &&
                     (op_b ? b_layout->columns : b_layout->rows) == k &&
                     a_layout->batches == d_layout->batches &&
                     b_layout->batches == d_layout->batches;
  if (!agree || c != d || c_layout != d_layout) return CUBLAS_STATUS_INVALID_VALUE;
  const void* operands[] = {a, b, c, d};
  for (int i = 0; algorithm && i < 4; ++i) {
    if (reinterpret_cast<uintptr_t>(operands[i]) % algorithm->data[i] == 0) continue;
    report_call("cublasLtMatmul", "an operand is aligned worse than its algorithm was told",
                "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_x_BYTES before cublasLtMatmulAlgoGetHeuristic");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto matrix = [](const void* data, cublasLtMatrixLayout_t x, bool transposed) {
    return GemmMatrix{data, x->type, x->ld, x->batch, transposed};
  };
  Gemm gemm{.call = "cublasLtMatmul",
            .compute = desc->compute,
            .m = static_cast<int64_t>(d_layout->rows),
            .n = static_cast<int64_t>(d_layout->columns),
            .k = static_cast<int64_t>(k),
            .batches = d_layout->batches};
  gemm.alpha = scale_at(alpha, desc->compute), gemm.beta = scale_at(beta, desc->compute);
  gemm.a = matrix(a, a_layout, op_a);
  gemm.b = matrix(b, b_layout, op_b);
  gemm.c = matrix(d, d_layout, false);
  if (has(*desc, kBias)) gemm.bias = desc->bias;
  gemm.gelu = has(*desc, kGelu);
  if (has(*desc, kKeepsInside)) {
    if (desc->inside_ld % 8 != 0 || desc->inside_ld < gemm.m) {
      report_call("cublasLtMatmul",
                  "the auxiliary matrix's columns lie in a distance that is wrong",
                  "at least a column, and a multiple of 8: CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD");
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    gemm.inside = {desc->inside, d_layout->type, desc->inside_ld, desc->inside_batch, false};
  }
  return submit(reinterpret_cast<cublasHandle_t>(handle), stream, gemm);
}
