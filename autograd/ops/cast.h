// Copies to another dtype or device.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

/// x in another dtype; x itself if it has it already. Floating to integer truncates towards 0,
/// anything to bool is `!= 0`, to 16 bits rounds to nearest even.
/// dx = dy, converted back. No gradient flows through an integer dtype.
Tensor cast(const Tensor& x, DType dtype);
Tensor to(const Tensor& x, DType dtype);
/// x on another device; x itself if it is there already. dx = dy, copied back.
Tensor to(const Tensor& x, Device device);

}  // namespace accrue
