// The words of CUDA C++ that a kernel uses, as the host executor understands them: indices,
// barriers, warp operations, atomics, and the mathematics that <cmath> lacks. Part of simt.h.
// Now read: block.h for the barriers, warp.cpp for the warp operations.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_runtime.h>

#include <accrue/kernels/simt/launch.h>

namespace accrue::simt {

struct SharedVariable {
  const char* name;
  const char* file;
  unsigned line;
  size_t bytes;
  size_t alignment;
  uint32_t block = 0;  // the run of a block that `address` belongs to
  void* address = nullptr;
};
void* shared_memory(SharedVariable& variable);
void* dynamic_shared_memory();

// Constant while a thread lives, so the compiler may call them once.
__attribute__((const)) uint3 thread_index();
__attribute__((const)) uint3 block_index();
__attribute__((const)) dim3 block_size();
__attribute__((const)) dim3 grid_size();
__attribute__((const)) int lane();

// Waits for all threads of the block; how many of them passed a vote other than 0.
unsigned block_barrier(int vote, Site site);

enum class WarpOperation : uint8_t { sync, shuffle, ballot, any, all };
// Waits for the lanes of the mask; the value of lane `source`, or the outcome of the vote.
uint64_t warp_operation(WarpOperation operation, unsigned mask, uint64_t value, int source,
                        Site site);
unsigned active_lanes();

void check_atomic(const void* pointer, size_t bytes, const void* pc);

template <class T>
uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
T shuffle(unsigned mask, T value, int source, Site site) {
  return from_bits<T>(warp_operation(WarpOperation::shuffle, mask, to_bits(value), source, site));
}

// Reads *p, writes f(*p), returns what was read. One host thread runs all kernels and gives way at
// no point in here, so plain code is atomic. Not inlined, so that the caller is the access.
template <class T, class F>
__attribute__((noinline, no_sanitize("thread"))) T exchange(T* p, F f) {
  check_atomic(p, sizeof(T), __builtin_return_address(0));
  const T old = *p;
  *p = f(old);
  return old;
}

}  // namespace accrue::simt

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__

#define threadIdx (::accrue::simt::thread_index())
#define blockIdx (::accrue::simt::block_index())
#define blockDim (::accrue::simt::block_size())
#define gridDim (::accrue::simt::grid_size())
constexpr int warpSize = 32;

inline void __syncthreads(accrue::simt::Site site = accrue::simt::Site::here()) {
  accrue::simt::block_barrier(0, site);
}
inline int __syncthreads_count(int vote, accrue::simt::Site site = accrue::simt::Site::here()) {
  return static_cast<int>(accrue::simt::block_barrier(vote != 0, site));
}
inline int __syncthreads_or(int vote, accrue::simt::Site site = accrue::simt::Site::here()) {
  return accrue::simt::block_barrier(vote != 0, site) != 0;
}
inline int __syncthreads_and(int vote, accrue::simt::Site site = accrue::simt::Site::here()) {
  return accrue::simt::block_barrier(vote == 0, site) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffU,
                       accrue::simt::Site site = accrue::simt::Site::here()) {
  accrue::simt::warp_operation(accrue::simt::WarpOperation::sync, mask, 0, 0, site);
}

// A segment of `width` lanes, a power of two, is a warp of its own to a shuffle. A source beyond
// the segment is the lane itself.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              accrue::simt::Site site = accrue::simt::Site::here()) {
  const int first = accrue::simt::lane() & -width;
  return accrue::simt::shuffle(mask, value, first + (source & (width - 1)), site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                 accrue::simt::Site site = accrue::simt::Site::here()) {
  const int lane = accrue::simt::lane(), source = lane - static_cast<int>(distance);
  return accrue::simt::shuffle(mask, value, source < (lane & -width) ? lane : source, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                   accrue::simt::Site site = accrue::simt::Site::here()) {
  const int lane = accrue::simt::lane(), source = lane + static_cast<int>(distance);
  return accrue::simt::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  accrue::simt::Site site = accrue::simt::Site::here()) {
  const int lane = accrue::simt::lane(), source = lane ^ bits;
  return accrue::simt::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source, site);
}
inline unsigned __ballot_sync(unsigned mask, int vote,
                              accrue::simt::Site site = accrue::simt::Site::here()) {
  return static_cast<unsigned>(
      accrue::simt::warp_operation(accrue::simt::WarpOperation::ballot, mask, vote != 0, 0, site));
}
inline int __any_sync(unsigned mask, int vote,
                      accrue::simt::Site site = accrue::simt::Site::here()) {
  return static_cast<int>(
      accrue::simt::warp_operation(accrue::simt::WarpOperation::any, mask, vote != 0, 0, site));
}
inline int __all_sync(unsigned mask, int vote,
                      accrue::simt::Site site = accrue::simt::Site::here()) {
  return static_cast<int>(
      accrue::simt::warp_operation(accrue::simt::WarpOperation::all, mask, vote != 0, 0, site));
}
inline unsigned __activemask() { return accrue::simt::active_lanes(); }
// Order between memory accesses that no barrier orders is more than the executor models.
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T>
T atomicAdd(T* p, std::type_identity_t<T> v) {
  return accrue::simt::exchange(p, [v](T old) { return static_cast<T>(old + v); });
}
template <class T>
T atomicMax(T* p, std::type_identity_t<T> v) {
  return accrue::simt::exchange(p, [v](T old) { return old > v ? old : v; });
}
template <class T>
T atomicMin(T* p, std::type_identity_t<T> v) {
  return accrue::simt::exchange(p, [v](T old) { return old < v ? old : v; });
}
template <class T>
T atomicExch(T* p, std::type_identity_t<T> v) {
  return accrue::simt::exchange(p, [v](T) { return v; });
}
template <class T>
T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return accrue::simt::exchange(p, [=](T old) { return old == expected ? v : old; });
}
template <class T>
T __ldg(const T* p) {
  return *p;
}

// clang-format off
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline int __float_as_int(float x) { return accrue::simt::from_bits<int>(accrue::simt::to_bits(x)); }
inline float __int_as_float(int x) { return accrue::simt::from_bits<float>(accrue::simt::to_bits(x)); }
inline unsigned __float_as_uint(float x) { return accrue::simt::from_bits<unsigned>(accrue::simt::to_bits(x)); }
inline float __uint_as_float(unsigned x) { return accrue::simt::from_bits<float>(accrue::simt::to_bits(x)); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t{a} * b) >> 32); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
template <class T> constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> constexpr T max(T a, T b) { return a < b ? b : a; }
// clang-format on
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
