// The calls of the CUDA runtime that give memory and take it back.
#include <algorithm>
#include <cstdlib>
#include <map>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/stream.h>

using namespace accrue::simt;

namespace {

constexpr size_t kPinnedAlignment = 4096;

std::map<void*, size_t>& pinned() {
  static auto* const blocks = new std::map<void*, size_t>;
  return *blocks;
}

cudaMemPool_t pool_of(int device) {
  return reinterpret_cast<cudaMemPool_t>(&executor().device(device));
}
int device_of(cudaMemPool_t pool) {
  for (int device = 0; device < kDevices; ++device) {
    if (pool == pool_of(device)) return device;
  }
  return -1;
}

cudaError_t refuse_free(const char* call, void* pointer) {
  const bool known = Arena::contains(pointer) && Arena::offset(pointer) >= kSharedSpan;
  const Allocation* allocation = known ? Arena::allocation(Arena::offset(pointer)) : nullptr;
  const bool twice =
      allocation && allocation->life == Life::freed && allocation->begin == Arena::offset(pointer);
  return refuse(call,
                twice ? "freed a second time: " + describe_address(pointer)
                      : "no begin of a live allocation: " + describe_address(pointer),
                "each pointer of cudaMalloc once");
}

cudaError_t allocate(void** pointer, size_t bytes, Life life, Allocation** made) {
  if (!pointer) return fail(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return outcome();
  if (const cudaError_t failure = outcome(); failure != cudaSuccess) return failure;
  *made = bytes > kDeviceSpan ? nullptr : Arena::allocate(current_device(), bytes, life);
  if (!*made) return fail(cudaErrorMemoryAllocation);
  *pointer = Arena::address((*made)->begin);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  const Entered entered;
  Allocation* made = nullptr;
  return allocate(pointer, bytes, Life::live, &made);
}

// The memory exists once the stream has come to it: a use on another stream that does not wait
// finds nothing there.
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t handle) {
  const Entered entered;
  CUstream_st* stream = find_stream("cudaMallocAsync", handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  Allocation* made = nullptr;
  const cudaError_t error = allocate(pointer, bytes, Life::pending, &made);
  if (made) queue(*stream, [made] { Arena::begin_life(*made); });
  return error;
}

cudaError_t cudaFree(void* pointer) {
  const Entered entered;
  if (!pointer) return outcome();
  run_everything();  // as CUDA does: nothing that runs can still use it
  Allocation* allocation = Arena::find_live(pointer);
  if (!allocation) return refuse_free("cudaFree", pointer);
  Arena::release(*allocation);
  return outcome();
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  const Entered entered;
  CUstream_st* stream = find_stream("cudaFreeAsync", handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!pointer) return outcome();
  if (!Arena::find_live(pointer)) return refuse_free("cudaFreeAsync", pointer);
  queue(*stream, [pointer] {
    Allocation* allocation = Arena::find_live(pointer);
    if (allocation) {
      Arena::release(*allocation);
    } else {
      refuse_free("cudaFreeAsync", pointer);
    }
  });
  return outcome();
}

// Pinned memory is host memory. On a real machine kernels could reach it; here they may not.
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  const Entered entered;
  const size_t whole =
      (std::max<size_t>(bytes, 1) + kPinnedAlignment - 1) / kPinnedAlignment * kPinnedAlignment;
  *pointer = std::aligned_alloc(kPinnedAlignment, whole);
  if (!*pointer) return fail(cudaErrorMemoryAllocation);
  pinned()[*pointer] = bytes;
  return outcome();
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  const Entered entered;
  if (!pointer) return outcome();
  run_everything();
  if (pinned().erase(pointer) == 0) {
    return refuse("cudaFreeHost", join(pointer, " is no pinned memory"),
                  "each pointer of cudaMallocHost once");
  }
  std::free(pointer);
  return outcome();
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Entered entered;
  *total = kDeviceSpan;
  *free = kDeviceSpan - Arena::bytes_in_use(current_device());
  return outcome();
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const Entered entered;
  void* const address = const_cast<void*>(pointer);
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
  if (Arena::contains(pointer) && Arena::offset(pointer) >= kSharedSpan) {
    const Allocation* allocation = Arena::allocation(Arena::offset(pointer));
    const int device = allocation ? allocation->device : current_device();
    *attributes = {cudaMemoryTypeDevice, device, address, nullptr};
  } else if (auto next = pinned().upper_bound(address); next != pinned().begin()) {
    const auto& [begin, bytes] = *--next;
    if (address < static_cast<char*>(begin) + bytes) {
      *attributes = {cudaMemoryTypeHost, current_device(), address, address};
    }
  }
  return outcome();
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  const Entered entered;
  if (device < 0 || device >= kDevices) return fail(cudaErrorInvalidDevice);
  *pool = pool_of(device);
  return outcome();
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const Entered entered;
  const int device = device_of(pool);
  if (device < 0 || attribute != cudaMemPoolAttrReleaseThreshold) {
    return refuse("cudaMemPoolSetAttribute", "no such pool, or an attribute to read only",
                  "cudaMemPoolAttrReleaseThreshold");
  }
  executor().device(device).pool_threshold = *static_cast<uint64_t*>(value);
  return outcome();
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const Entered entered;
  const int device = device_of(pool);
  if (device < 0) return refuse("cudaMemPoolGetAttribute", "no such pool", "the default pool");
  const bool threshold = attribute == cudaMemPoolAttrReleaseThreshold;
  *static_cast<uint64_t*>(value) =
      threshold ? executor().device(device).pool_threshold : Arena::bytes_in_use(device);
  return outcome();
}

// The executor keeps nothing back, so there is nothing to trim.
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  const Entered entered;
  if (device_of(pool) < 0) return refuse("cudaMemPoolTrimTo", "no such pool", "the default pool");
  return outcome();
}
