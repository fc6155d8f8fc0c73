// How the convolution lays images out before it runs over them: as frames, in which padding is
// there in memory, elements are numbers of the type that is computed in, and columns that a stride
// would jump over are sorted away. Then a tap of the kernel is one distance, for every output, and
// outputs side by side read inputs side by side. Now read: conv.cpp.
#pragma once
#include <vector>

#include <accrue/kernels/conv_shape.h>
#include <accrue/kernels/cpu/arithmetic.h>

namespace accrue::kernels::cpu {

// Frame element (c, row, phase, i) is image element (c, first_row + row, first_col + i * phases +
// phase), or 0 outside the image.
struct ConvFrame {
  int64_t channels = 0;
  int64_t rows = 0, phases = 1, width = 0;
  int64_t first_row = 0, first_col = 0;

  int64_t row() const { return phases * width; }
  int64_t plane() const { return rows * row(); }
  int64_t size() const { return channels * plane(); }
};

// The frame in which y reads x: output (i, j) of tap (c, a, b) reads i · stride · row() + j + tap.
ConvFrame frame_of_x(const ConvShape& s);
// Where the taps (c, a, b) of one group lie in that frame, in order.
std::vector<int64_t> taps_of_x(const ConvShape& s, const ConvFrame& f);

// Lays channels [begin, end) of one image out at `to`, where channel 0 of the frame begins.
void fill_frame(const ConstView& images, int64_t image, int64_t begin, int64_t end,
                const ConvFrame& f, float* to);
void fill_frame(const ConstView& images, int64_t image, int64_t begin, int64_t end,
                const ConvFrame& f, double* to);

// The bytes of frames that are laid out before they are used: they should still be in L2.
inline constexpr int64_t kConvBlockBytes = 512 << 10;
// Multiply-adds that are worth a fork and join, about.
inline constexpr int64_t kConvWorthAThread = 400'000;

// How many of `images` make one block, if each takes `bytes`: blocks of equal size.
inline int64_t conv_block(int64_t images, int64_t bytes) {
  const int64_t fit = std::max<int64_t>(1, kConvBlockBytes / std::max<int64_t>(1, bytes));
  const int64_t blocks = ceil_div(images, fit);
  return blocks == 0 ? 0 : ceil_div(images, blocks);
}

}  // namespace accrue::kernels::cpu
