// What every kernel file of this folder starts from: where a launch goes, how large it is, and what
// becomes of its error. A launching function reads
//
//   const Launcher on(y.view.device);
//   on.check(LAUNCH((twice<T>), blocks_for(n), kThreads, 0, on.stream(), x, y, n), "twice");
//
// Now read: element.cuh for how a kernel reads and writes, docs/cuda.md for the rules.
#pragma once
#include <accrue/core/cuda/runtime.h>

#include <accrue/kernels/simt/simt.h>

namespace accrue::kernels::cuda {

inline constexpr int kThreads = 256;  ///< of a block, where nothing asks for another number
inline constexpr unsigned kFullMask = 0xffffffffU;
/// Grids of kernels whose threads stride through their items are no larger: several blocks for each
/// of the multiprocessors of any device, and few for the host executor.
inline constexpr long kMostBlocks = 1024;

/// Blocks for n items, `per_block` each: at least 1, at most `most`.
inline unsigned blocks_for(long n, long per_block = kThreads, long most = kMostBlocks) {
  const long blocks = (n + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/// Makes the device of a kernel's result current while it lives.
class Launcher {
 public:
  explicit Launcher(Device device) : guard_(device), stream_(accrue::cuda::stream_of(device)) {}
  cudaStream_t stream() const { return stream_; }
  /// Throws CudaError, with the kernel's name in front.
  void check(cudaError_t error, const char* kernel) const {
    accrue::cuda::check_cuda(error, kernel);
  }

 private:
  accrue::cuda::DeviceGuard guard_;
  cudaStream_t stream_;
};

/// A kernel's items: `for (long i = thread_number(); i < n; i += thread_count())`.
__device__ inline long thread_number() {
  return static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline long thread_count() { return static_cast<long>(gridDim.x) * blockDim.x; }

}  // namespace accrue::kernels::cuda
