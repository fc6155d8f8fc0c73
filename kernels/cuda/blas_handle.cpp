#include <cstdio>
#include <map>
#include <utility>

#include <accrue/core/error.h>

#include <accrue/kernels/cuda/blas_handle.h>

namespace accrue::kernels::cuda {
namespace {

struct Blas {
  std::mutex lock;
  bool looked = false;
  bool found = false;
  BlasLibrary library;
  std::string absent_because;  // a test's word
  std::map<std::pair<int, cudaStream_t>, std::shared_ptr<BlasHandle>> handles;

  void look() {
    looked = true;
    std::string why = absent_because;
    found = why.empty() && find_blas(library, why);
    if (found) return;
    const std::string notice =
        "accrue: products run on its own kernels, for cuBLAS is absent: " + why + "\n";
    std::fputs(notice.c_str(), stderr);
  }
};

Blas& blas() {
  static auto* const instance = new Blas;  // handles outlive what runs at exit
  return *instance;
}

/// As much as cuBLAS takes by itself.
size_t usual_workspace() {
  int device = 0, major = 0;
  accrue::cuda::check_cuda(cudaGetDevice(&device), "matmul");
  accrue::cuda::check_cuda(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "matmul");
  return size_t{major >= 9 ? 32U : 4U} << 20;
}

}  // namespace

BlasHandle::BlasHandle(const BlasLibrary& functions, cudaStream_t on)
    : library(functions), stream(on) {
  check(library.cublasCreate_v2(&handle));
  check(library.cublasSetStream_v2(handle, stream));
  check(library.cublasSetMathMode(handle, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
  const size_t bytes = library.workspace_bytes ? library.workspace_bytes : usual_workspace();
  if (cudaMalloc(&workspace, bytes) != cudaSuccess) {
    cudaGetLastError();  // it works with less
    workspace = nullptr;
    return;
  }
  workspace_bytes = bytes;
  check(library.cublasSetWorkspace_v2(handle, workspace, workspace_bytes));
}

BlasHandle::~BlasHandle() {
  library.cublasDestroy_v2(handle);
  cudaFree(workspace);
}

void BlasHandle::check(cublasStatus_t status) const {
  accrue::check<CudaError>(status == CUBLAS_STATUS_SUCCESS,
                           "matmul: cuBLAS failed: ", library.cublasGetStatusString(status));
}

std::shared_ptr<BlasHandle> blas_handle(Device device) {
  Blas& all = blas();
  cudaStream_t stream = accrue::cuda::stream_of(device);
  const std::lock_guard lock(all.lock);
  if (!all.looked) all.look();
  if (!all.found) return nullptr;
  std::shared_ptr<BlasHandle>& handle = all.handles[{device.index, stream}];
  if (!handle) handle = std::make_shared<BlasHandle>(all.library, stream);
  return handle;
}

void forget_blas(const std::string& absent_because) {
  Blas& all = blas();
  const std::lock_guard lock(all.lock);
  all.handles.clear();
  all.looked = false;
  all.absent_because = absent_because;
}

}  // namespace accrue::kernels::cuda
