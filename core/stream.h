// Stream, Event: the order of work on a device. Kernels and copies of a thread go to its current
// stream, one after another; two streams know of each other only what an Event tells them.
//
// The CPU works at once, so its only stream is always idle and its events have always happened:
// code that uses these runs unchanged on both. Now read: cuda/stream.cpp.
#pragma once
#include <accrue/core/device.h>
#include <accrue/core/ref.h>

namespace accrue {

class Event;
class Stream;
/// The stream that this thread's kernels and copies for the device go to.
Stream current_stream(Device device = default_device());

/// A value: copies are the same stream.
class Stream {
 public:
  /// The device's default stream.
  explicit Stream(Device device = {}) : device_(device) {}
  /// One of the device's 32 further streams, in turn; they live as long as the process. Throws
  /// DeviceError, CudaError.
  static Stream create(Device device);

  Device device() const { return device_; }
  /// Waits until all its work is done. Throws CudaError for work that failed.
  void synchronize() const;
  /// Whether all its work is done.
  bool is_idle() const;
  /// Work given to it from now on starts after the event.
  void wait(const Event& event) const;
  /// A cudaStream_t.
  void* handle() const { return handle_; }
  friend bool operator==(const Stream&, const Stream&) = default;

 private:
  friend Stream current_stream(Device device);
  Device device_;
  void* handle_ = nullptr;
};

/// While it lives, `stream` is the current one of its device for this thread.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream before_;
};

/// A point in a stream's work. Copies are the same event.
class Event {
 public:
  explicit Event(Device device = default_device());

  /// The point after all work given to `stream` so far. Throws DeviceError for another device's.
  void record(const Stream& stream);
  /// Waits until the work before it is done; at once if never recorded.
  void synchronize() const;
  bool is_done() const;
  /// Milliseconds of the device's time from `earlier` to here; both are waited for. Throws
  /// ValueError unless both were recorded on one CUDA device.
  double elapsed_ms(const Event& earlier) const;
  Device device() const { return device_; }

 private:
  friend class Stream;
  /// A cudaEvent_t, or nothing on the CPU.
  struct Handle final : RefCounted {
    explicit Handle(Device where);
    ~Handle() override;
    Device device;
    void* event = nullptr;
    bool recorded = false;
  };
  Device device_;
  Ref<Handle> handle_;
};

/// Waits until all work of the device is done. Throws CudaError for work that failed.
void synchronize(Device device = default_device());

}  // namespace accrue
