#include <algorithm>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/conv_frame.h>

namespace accrue::kernels::cpu {
namespace {

// One phase of one row: `width` elements of the image from `col` on, every `step`-th.
template <class T, class In>
void fill_row(const In* row, int64_t stride, int64_t image_cols, int64_t col, int64_t step,
              int64_t width, T* to) {
  const int64_t left = std::clamp<int64_t>(col < 0 ? ceil_div(-col, step) : 0, 0, width);
  const int64_t end = std::clamp<int64_t>(ceil_div(image_cols - col, step), left, width);
  std::fill_n(to, left, T(0));
  std::fill(to + end, to + width, T(0));
  if (end == left) return;
  const In* from = row + (col + left * step) * stride;
  if (step * stride == 1) {
    for (int64_t i = 0; i < end - left; ++i) to[left + i] = static_cast<T>(from[i]);
  } else {
    for (int64_t i = 0; i < end - left; ++i) {
      to[left + i] = static_cast<T>(from[i * step * stride]);
    }
  }
}

template <class T>
void fill(const ConstView& images, int64_t image, int64_t begin, int64_t end, const ConvFrame& f,
          T* to) {
  visit_float(images.dtype, [&]<class In>() {
    const In* base = static_cast<const In*>(images.data) + image * images.strides[0];
    for (int64_t c = begin; c < end; ++c) {
      T* plane = to + c * f.plane();
      for (int64_t r = 0; r < f.rows; ++r) {
        const int64_t y = f.first_row + r;
        if (y < 0 || y >= images.shape[2]) {
          std::fill_n(plane + r * f.row(), f.row(), T(0));
          continue;
        }
        const In* row = base + c * images.strides[1] + y * images.strides[2];
        for (int64_t phase = 0; phase < f.phases; ++phase) {
          fill_row(row, images.strides[3], images.shape[3], f.first_col + phase, f.phases, f.width,
                   plane + r * f.row() + phase * f.width);
        }
      }
    }
  });
}

}  // namespace

ConvFrame frame_of_x(const ConvShape& s) {
  return {.channels = s.groups * s.in_channels,
          .rows = (s.y.out - 1) * s.y.stride + s.y.reach(),
          .phases = s.x.stride,
          .width = ceil_div((s.x.out - 1) * s.x.stride + s.x.reach(), s.x.stride),
          .first_row = -s.y.padding,
          .first_col = -s.x.padding};
}

std::vector<int64_t> taps_of_x(const ConvShape& s, const ConvFrame& f) {
  std::vector<int64_t> taps;
  taps.reserve(static_cast<size_t>(s.in_channels * s.kernel_size()));
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t a = 0; a < s.y.kernel; ++a) {
      for (int64_t b = 0; b < s.x.kernel; ++b) {
        const int64_t col = b * s.x.dilation;
        taps.push_back(c * f.plane() + a * s.y.dilation * f.row() + col % f.phases * f.width +
                       col / f.phases);
      }
    }
  }
  return taps;
}

void fill_frame(const ConstView& images, int64_t image, int64_t begin, int64_t end,
                const ConvFrame& f, float* to) {
  fill(images, image, begin, end, f, to);
}
void fill_frame(const ConstView& images, int64_t image, int64_t begin, int64_t end,
                const ConvFrame& f, double* to) {
  fill(images, image, begin, end, f, to);
}

}  // namespace accrue::kernels::cpu
