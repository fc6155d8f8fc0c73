// A pass of the convolution: results, each a chain of products of weights with elements of a frame.
// y of x is one walk over the frame of x; dx is some over that of dy (conv.cpp).
#pragma once
#include <accrue/kernels/cpu/conv_frame.h>

namespace accrue::kernels::cpu {

// Results at (y, x), 0 <= y < rows, 0 <= x < cols: element (y, x) reads the frame at
// y · in_row + x + tap, and goes to out + y · out_y + x · out_x of the result.
struct ConvWalk {
  std::vector<int64_t> taps;     // where each is read
  std::vector<int64_t> weights;  // and its weight, in elements from that of its channel
  int64_t rows = 0, cols = 0, in_row = 0;
  int64_t out = 0, out_y = 0, out_x = 0;
};

struct ConvPass {
  ConstView in;
  ConvFrame frame;
  int64_t groups, channels;  // channels of the result in one group
  ConstView w;
  int64_t w_group, w_channel;  // from one group, one channel of the result, to the next
  ConstView bias;
  Dest out;
};

// The images of a block are laid out first and then walked over, so that threads share the work
// also where there is one image only. Every result is one chain: how work is cut does not show.
void run_conv(const ConvPass& pass, const std::vector<ConvWalk>& walks);

}  // namespace accrue::kernels::cpu
