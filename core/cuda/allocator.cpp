// A device's memory: CUDA's own stream-ordered pool, which gives a freed block again to whoever
// asks next on the same stream, and holds on to what it has. So after the first step a training
// step asks the driver for nothing.
#include <array>
#include <mutex>
#include <new>
#include <unordered_map>

#include <accrue/core/cuda/backend.h>
#include <accrue/core/cuda/runtime.h>

namespace accrue::cuda {
namespace {

class PoolAllocator final : public Allocator {
 public:
  explicit PoolAllocator(Device device) : device_(device) {
    const DeviceGuard guard(device_);
    check_cuda(cudaDeviceGetDefaultMemPool(&pool_, device_.index), "memory");
    uint64_t keep = UINT64_MAX;
    check_cuda(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "memory");
  }

  void* allocate(size_t bytes) noexcept override {
    try {
      const DeviceGuard guard(device_);
      cudaStream_t stream = stream_of(device_);
      void* memory = nullptr;
      const cudaError_t error =
          pass_through_ ? cudaMalloc(&memory, bytes) : cudaMallocAsync(&memory, bytes, stream);
      if (error != cudaSuccess) {
        cudaGetLastError();
        return nullptr;
      }
      origins_[memory] = {stream, pass_through_};
      if (pass_through_) {
        foreign_bytes_ += static_cast<int64_t>(bytes);
        ++foreign_requests_;
      }
      notice_growth();
      return memory;
    } catch (...) {
      return nullptr;
    }
  }

  void deallocate(void* memory, size_t bytes) noexcept override {
    const auto found = origins_.find(memory);
    const Origin origin = found->second;
    origins_.erase(found);
    try {
      const DeviceGuard guard(device_);
      if (origin.foreign) {
        foreign_bytes_ -= static_cast<int64_t>(bytes);
        cudaFree(memory);
        return;
      }
      // The stream it came from will hand it out again, and this thread's stream may still read it.
      cudaStream_t here = stream_of(device_);
      if (here != origin.stream) order(here, origin.stream);
      cudaFreeAsync(memory, origin.stream);
    } catch (...) {  // a device that has failed keeps its memory
      cudaGetLastError();
    }
  }

  void release_cached() noexcept override {
    try {
      const DeviceGuard guard(device_);
      cudaDeviceSynchronize();
      cudaMemPoolTrimTo(pool_, 0);
      reserved_seen_ = pool_bytes();
    } catch (...) {
      cudaGetLastError();
    }
  }

  void set_pass_through(bool on) noexcept override { pass_through_ = on; }
  int64_t reserved() const noexcept override { return pool_bytes() + foreign_bytes_; }
  int64_t system_requests() const noexcept override { return growths_ + foreign_requests_; }

  void fill(void* memory, int byte, size_t bytes) noexcept override {
    try {
      const DeviceGuard guard(device_);
      cudaMemsetAsync(memory, byte, bytes, stream_of(device_));
    } catch (...) {
      cudaGetLastError();
    }
  }

 private:
  struct Origin {
    cudaStream_t stream = nullptr;
    bool foreign = false;
  };

  /// What `later` does from now on comes after what `earlier` has been given.
  static void order(cudaStream_t earlier, cudaStream_t later) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "memory");
    cudaEventRecord(event, earlier);
    cudaStreamWaitEvent(later, event, 0);
    cudaEventDestroy(event);
  }

  int64_t pool_bytes() const noexcept {
    uint64_t bytes = 0;
    cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &bytes);
    return static_cast<int64_t>(bytes);
  }
  void notice_growth() noexcept {
    const int64_t now = pool_bytes();
    growths_ += now > reserved_seen_;
    reserved_seen_ = now;
  }

  Device device_;
  cudaMemPool_t pool_ = nullptr;
  std::unordered_map<void*, Origin> origins_;
  bool pass_through_ = false;
  int64_t foreign_bytes_ = 0;
  int64_t foreign_requests_ = 0;
  int64_t reserved_seen_ = 0;
  int64_t growths_ = 0;
};

/// The pools of devices that are in use; null for others, since use costs memory on a device, even
/// if it is another's. Never destroyed: tensors in static storage die last.
std::array<PoolAllocator*, kMaxDevices> pools{};

/// Waits for every device in use.
void synchronize_all() noexcept {
  for (int i = 0; i < kMaxDevices; ++i) {
    if (!pools[static_cast<size_t>(i)]) continue;
    try {
      const DeviceGuard guard({DeviceType::cuda, static_cast<int8_t>(i)});
      cudaDeviceSynchronize();
    } catch (...) {
      cudaGetLastError();
    }
  }
}

/// Page-locked memory of the host, block by block: it is for a few large buffers that live long.
class PinnedAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes) noexcept override {
    void* memory = nullptr;
    if (cudaMallocHost(&memory, bytes) != cudaSuccess) {
      cudaGetLastError();
      return nullptr;
    }
    reserved_ += static_cast<int64_t>(bytes);
    ++requests_;
    return memory;
  }
  void deallocate(void* memory, size_t bytes) noexcept override {
    synchronize_all();  // a copy may be under way
    cudaFreeHost(memory);
    reserved_ -= static_cast<int64_t>(bytes);
  }
  void release_cached() noexcept override {}
  void set_pass_through(bool) noexcept override {}
  int64_t reserved() const noexcept override { return reserved_; }
  int64_t system_requests() const noexcept override { return requests_; }

 private:
  int64_t reserved_ = 0;
  int64_t requests_ = 0;
};

}  // namespace

Allocator& allocator(int device) {
  static std::array<std::once_flag, kMaxDevices> made;
  const auto i = static_cast<size_t>(device);
  std::call_once(made[i], [&] {
    pools[i] = new PoolAllocator(Device{DeviceType::cuda, static_cast<int8_t>(device)});
  });
  return *pools[i];
}

Allocator& pinned_allocator() {
  static auto* const pinned = new PinnedAllocator;
  return *pinned;
}

}  // namespace accrue::cuda
