// The one header of a CUDA kernel. Under nvcc it is a thin layer over CUDA; under g++ the same
// words are run by the host executor of this folder, which checks every access. A kernel writes
//
//   SIMT_SHARED(float, part, [32]);        __shared__ float part[32];
//   SIMT_DYN_SHARED(float, rows);          extern __shared__ float rows[];
//   Restrict<const float> x                const float* __restrict__ x       (a parameter)
//   LAUNCH((k<T>), grid, block, bytes, stream, arguments...)   returns a cudaError_t
//
// and plain CUDA everywhere else. How to write one: docs/cuda.md. Now read: vocabulary.h.
#pragma once

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#define SIMT_SHARED(T, name, ...) __shared__ T name __VA_ARGS__
#define SIMT_DYN_SHARED(T, name)                                 \
  extern __shared__ __align__(16) unsigned char simt_dynamic_[]; \
  T* name = reinterpret_cast<T*>(simt_dynamic_)

template <class T>
using Restrict = T* __restrict__;

namespace accrue::simt {
template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes,
                   cudaStream_t stream, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "as many arguments as the kernel has parameters");
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<P>(arguments)...);
  return cudaGetLastError();
}
}  // namespace accrue::simt

// Variadic, for a template with two arguments is two arguments to the preprocessor.
#define LAUNCH(kernel, ...) ::accrue::simt::launch(kernel, __VA_ARGS__)

#else

#include <accrue/kernels/simt/launch.h>
#include <accrue/kernels/simt/vocabulary.h>

#define SIMT_SHARED(T, name, ...)                                       \
  using name##_simt_type = T __VA_ARGS__;                               \
  static constinit ::accrue::simt::SharedVariable name##_simt_variable{ \
      #name, __FILE__, __LINE__, sizeof(name##_simt_type), alignof(T)}; \
  name##_simt_type& name = /* one for each block */                     \
      *static_cast<name##_simt_type*>(::accrue::simt::shared_memory(name##_simt_variable))
// NOLINTNEXTLINE(bugprone-macro-parentheses): a variable is not declared in parentheses
#define SIMT_DYN_SHARED(T, name) T* name = static_cast<T*>(::accrue::simt::dynamic_shared_memory())
#define LAUNCH(kernel, ...) \
  ::accrue::simt::launch({#kernel, __FILE__, __LINE__}, kernel, __VA_ARGS__)

#endif
