// Tensors from one device to another. Now read: stream.h for what runs when.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

/// A copy on another device, outside any tape; x itself if it is there already. Returns when the
/// copy is done. `non_blocking`: from pinned memory to a CUDA device it returns when the copy is
/// queued on the current stream, and x may not change before that stream has done it.
Tensor to_device(const Tensor& x, Device device, bool non_blocking = false);

/// A copy in page-locked memory of the host, from which a CUDA device copies on its own while the
/// host goes on. x itself if it is pinned. Throws DeviceError unless x is on the CPU and a CUDA
/// device is usable.
Tensor pin_memory(const Tensor& x);
bool is_pinned(const Tensor& x);

/// The part of x's memory that its elements span, as the host sees it: for code that runs on the
/// host whatever the device. On the CPU it is x's own memory.
class HostImage {
 public:
  enum class Use : uint8_t { read, rewrite };
  /// `rewrite`: every element will be written, so none need be fetched.
  explicit HostImage(const Tensor& x, Use use = Use::read);
  /// Of x's shape and strides, on the CPU.
  const Tensor& tensor() const { return image_; }
  /// Puts what has become of it where x lies.
  void write_back() const;

 private:
  Tensor x_;
  Tensor image_;
};

}  // namespace accrue
