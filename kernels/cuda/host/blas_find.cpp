// The executor's cuBLAS is linked: kernels/simt/cublas.cpp.
#include <accrue/kernels/cuda/blas_library.h>

namespace accrue::kernels::cuda {

bool find_blas(BlasLibrary& library, std::string&) {
#define ACCRUE_TAKE(name) library.name = ::name;
  ACCRUE_CUBLAS(ACCRUE_TAKE)
  ACCRUE_CUBLASLT(ACCRUE_TAKE)
#undef ACCRUE_TAKE
  library.workspace_bytes = 4096;
  return true;
}

}  // namespace accrue::kernels::cuda
