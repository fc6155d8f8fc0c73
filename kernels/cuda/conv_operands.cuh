// What the convolution and its gradients share: where the taps of a kernel lie, where results go,
// and the bounds that let positions in an image be 32-bit numbers. Now read: conv.cu.
#pragma once
#include <algorithm>

#include <accrue/kernels/conv_shape.h>
#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/images.cuh>
#include <accrue/kernels/cuda/tile_choice.h>

namespace accrue::kernels::cuda {

/// What numbers of dtype T are multiplied and added in.
template <class T>
using ConvNumber = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// float32 is what most is computed in; the others make do with one kernel each, for nvcc's sake.
template <class T>
inline constexpr TileChoice kLargestTile =
    std::is_same_v<T, float> ? TileChoice::large : TileChoice::small;

/// Step k of a chain over channels, then rows and columns of the kernel.
struct Tap {
  int channel, row, column;
};
class Taps {
 public:
  Taps(long rows, long columns) : plane_(rows * columns), columns_(columns) {}
  __device__ Tap operator[](int k) const {
    const int channel = plane_(k), in_plane = k - plane_.times(channel), row = columns_(in_plane);
    return {channel, row, in_plane - columns_.times(row)};
  }

 private:
  Divisor plane_, columns_;
};

/// Element i in memory: of T, or of float32 where T has 16 bits.
template <class T>
struct ConvTarget {
  using C = ConvNumber<T>;
  void* data;
  bool is_float32;
  Write write;

  explicit ConvTarget(const Dest& y)
      : data(y.view.data), is_float32(y.view.dtype == DType::float32), write(y.write) {}
  __device__ C start(long i) const {
    if (write == Write::overwrite) return 0;
    if (kIsHalf<T> && is_float32) return static_cast<const float*>(data)[i];
    return convert<C>(static_cast<const T*>(data)[i]);
  }
  __device__ void set(long i, C value) const { put_as_write(i, value, write); }
  __device__ void finish(long i, C sum) const { put_as_write(i, sum, Write::overwrite); }

 private:
  __device__ void put_as_write(long i, C value, Write how) const {
    if (kIsHalf<T> && is_float32)
      put(static_cast<float*>(data) + i, static_cast<float>(value), how);
    else
      put(static_cast<T*>(data) + i, value, how);
  }
};

/// Throws DTypeError unless the operands are of one dtype, and the result too or float32.
inline void check_dtypes(const char* op, const ConstView& a, const ConstView& b, const Dest& y) {
  const DType t = a.dtype, to = y.view.dtype;
  check<DTypeError>(b.dtype == t && (to == t || (is_16bit_float(t) && to == DType::float32)), op,
                    ": operands of ", t, " and ", b.dtype, " cannot give ", to);
}

/// Pixels that are numbered together, so that the numbers and their sums have 32 bits.
inline constexpr long kMostPixels = 1L << 30;

/// Throws ShapeError unless a chain, a position in a padded image and the pixels of an image of y
/// are that small.
inline void check_sizes(const char* op, const ConvShape& s) {
  const auto largest = [](const ConvAxis& a) { return a.in + 2 * a.padding + a.stride; };
  const long most = std::max({largest(s.y), largest(s.x), s.y.out * s.x.out,
                              std::max(s.in_channels, s.out_channels) * s.kernel_size()});
  check<ShapeError>(most <= kMostPixels, op, ": an image of ", s.y.in, " by ", s.x.in, " with ",
                    s.in_channels, " channels and a kernel of ", s.y.kernel, " by ", s.x.kernel,
                    "; on a CUDA device at most 2^30 pixels, or products an output");
}

/// Images [first, first + n) of a batch.
inline ConstView images_of(ConstView x, long first, long n) {
  x.data = static_cast<const char*>(x.data) + first * x.strides[0] * long(size_of(x.dtype));
  x.shape[0] = n;
  return x;
}
inline Dest images_of(Dest y, long first, long n) {
  y.view.data =
      static_cast<char*>(y.view.data) + first * y.view.strides[0] * long(size_of(y.view.dtype));
  y.view.shape[0] = n;
  return y;
}

/// f(first, n) for all images, as many at once as may be, or for none of them if there are none.
template <class F>
void for_images(const ConvShape& s, F&& f) {
  const long at_once = kMostPixels / std::max({1L, s.y.out * s.x.out, s.y.in * s.x.in});
  for (long first = 0; first == 0 || first < s.images; first += at_once)
    f(first, std::min(at_once, s.images - first));
}

}  // namespace accrue::kernels::cuda
