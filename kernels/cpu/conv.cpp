// The convolution and its gradient for x: both are walks over frames. For dx the walk is over dy,
// once for each remainder of the position in x by the stride: the taps that reach it are those of
// the same remainder.
#include <algorithm>
#include <utility>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/conv_walk.h>

namespace accrue::kernels::cpu {
namespace {

// One remainder of the position in x by the stride, in one direction: position rest + t · stride is
// reached through tap `at` from y at t + shift.
struct Reach {
  int64_t at, shift;
};
std::vector<Reach> reach_of(const ConvAxis& a, int64_t rest) {
  std::vector<Reach> taps;
  for (int64_t at = 0; at < a.kernel; ++at) {
    const int64_t distance = rest + a.padding - at * a.dilation;
    if (distance % a.stride == 0) taps.push_back({at, distance / a.stride});
  }
  return taps;
}

}  // namespace

void conv2d(const ConstView& x, const ConstView& w, const ConstView& bias, const ConvParams& p,
            const Dest& y) {
  const ConvShape s = conv_shape(x.shape, w.shape, p);
  if (numel(y.view.shape) == 0) return;
  const ConvFrame frame = frame_of_x(s);
  ConvWalk walk;
  walk.taps = taps_of_x(s, frame);
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t i = 0; i < s.kernel_size(); ++i) {
      walk.weights.push_back(c * w.strides[1] + i / s.x.kernel * w.strides[2] +
                             i % s.x.kernel * w.strides[3]);
    }
  }
  walk.rows = s.y.out, walk.cols = s.x.out, walk.in_row = s.y.stride * frame.row();
  walk.out_y = y.view.strides[2], walk.out_x = y.view.strides[3];
  run_conv(
      {x, frame, s.groups, s.out_channels, w, s.out_channels * w.strides[0], w.strides[0], bias, y},
      {walk});
}

void conv2d_grad_x(const ConstView& dy, const ConstView& w, const ConvParams& p, const Dest& dx) {
  const View& to = dx.view;
  if (numel(to.shape) == 0) return;
  const ConvShape s = conv_shape(to.shape, w.shape, p);
  // The frame reaches as far around dy as any tap needs.
  const auto margins = [](const ConvAxis& a) {
    int64_t before = 0, after = 0;
    for (int64_t rest = 0; rest < std::min(a.stride, a.in); ++rest) {
      const int64_t last = (a.in - 1 - rest) / a.stride;
      for (const Reach& tap : reach_of(a, rest)) {
        before = std::max(before, -tap.shift);
        after = std::max(after, last + tap.shift - (a.out - 1));
      }
    }
    return std::pair(before, after);
  };
  const auto [above, below] = margins(s.y);
  const auto [left, right] = margins(s.x);
  const ConvFrame frame{.channels = s.groups * s.out_channels,
                        .rows = above + s.y.out + below,
                        .phases = 1,
                        .width = left + s.x.out + right,
                        .first_row = -above,
                        .first_col = -left};
  std::vector<ConvWalk> walks;
  for (int64_t i = 0; i < std::min(s.y.stride, s.y.in); ++i) {
    for (int64_t j = 0; j < std::min(s.x.stride, s.x.in); ++j) {
      ConvWalk& walk = walks.emplace_back();
      const std::vector<Reach> ys = reach_of(s.y, i), xs = reach_of(s.x, j);
      for (int64_t o = 0; o < s.out_channels; ++o) {
        for (const Reach& a : ys) {
          for (const Reach& b : xs) {
            walk.taps.push_back(o * frame.plane() + (a.shift + above) * frame.row() + b.shift +
                                left);
            walk.weights.push_back(o * w.strides[0] + a.at * w.strides[2] + b.at * w.strides[3]);
          }
        }
      }
      walk.rows = ceil_div(s.y.in - i, s.y.stride), walk.cols = ceil_div(s.x.in - j, s.x.stride);
      walk.in_row = frame.row();
      walk.out = i * to.strides[2] + j * to.strides[3];
      walk.out_y = s.y.stride * to.strides[2], walk.out_x = s.x.stride * to.strides[3];
    }
  }
  run_conv({dy, frame, s.groups, s.in_channels, w, s.out_channels * w.strides[0], w.strides[1],
            ConstView{}, dx},
           walks);
}

}  // namespace accrue::kernels::cpu
