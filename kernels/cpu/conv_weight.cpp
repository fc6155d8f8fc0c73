// The gradients of the convolution for w and bias. Each element of dw stays one chain over all
// pixels of all images, so threads share out the elements, never the pixels.
#include <algorithm>

#include <accrue/core/workspace.h>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/conv_frame.h>
#include <accrue/kernels/cpu/conv_tile.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cpu {
namespace {

// to[pixel][o] = dy of one image and group, in rows of `row`.
template <class T>
void transpose_dy(const ConstView& dy, int64_t image, int64_t channel, int64_t channels,
                  int64_t row, T* to) {
  const int64_t height = dy.shape[2], width = dy.shape[3];
  const int64_t at = image * dy.strides[0] + channel * dy.strides[1];
  if (dy.dtype == dtype_of<T>() && dy.strides[3] == 1 && dy.strides[2] == width) {
    return run_transpose(static_cast<const T*>(dy.data) + at, dy.strides[1], channels,
                         height * width, to, row);
  }
  visit_float(dy.dtype, [&]<class In>() {
    const In* from = static_cast<const In*>(dy.data) + at;
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x, to += row) {
        const In* pixel = from + y * dy.strides[2] + x * dy.strides[3];
        for (int64_t o = 0; o < channels; ++o) to[o] = static_cast<T>(pixel[o * dy.strides[1]]);
        std::fill(to + channels, to + row, T(0));
      }
    }
  });
}

template <class T>
class WeightGradient {
 public:
  WeightGradient(const ConstView& dy, const ConstView& x, const ConvShape& s, const Dest& dw)
      : dy_(dy), x_(x), s_(s), dw_(dw), frame_(frame_of_x(s)), taps_(taps_of_x(s, frame_)) {
    const ConvTileShape tile = conv_tile_shape<T>();
    tile_rows_ = tile.rows, lanes_ = tile.lanes, panel_ = tile.vectors * tile.lanes;
    count_ = static_cast<int64_t>(taps_.size());
    const int64_t pairs = ceil_div(count_, 2);
    tiles_ = ceil_div(pairs, tile_rows_ / 2);
    for (int64_t t = 0; t <= tiles_; ++t) begin_.push_back(pairs * t / tiles_ * 2);
    taps_.resize(static_cast<size_t>(2 * pairs), 0);  // a last one for company
    row_ = ceil_div(s.out_channels, lanes_) * lanes_;
    pixels_ = s.y.out * s.x.out;
  }

  void run() {
    const int64_t dy_size = s_.groups * pixels_ * row_;
    const int64_t image_size = frame_.size() + dy_size;
    const int64_t sums_size = s_.groups * static_cast<int64_t>(taps_.size()) * row_;
    const int64_t block = conv_block(s_.images, image_size * static_cast<int64_t>(sizeof(T)));
    const Workspace workspace(static_cast<size_t>(sums_size + block * image_size) * sizeof(T));
    sums_ = workspace.as<T>();
    dys_ = sums_ + sums_size;
    frames_ = dys_ + block * dy_size;
    move_sums<Way::load>();
    const int64_t panels = ceil_div(row_, panel_), units = s_.groups * tiles_ * panels;
    for (int64_t first = 0; first < s_.images; first += block) {
      const int64_t n = std::min(block, s_.images - first);
      parallel_for(n, ceil_div(kConvWorthAThread / 8, image_size), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) lay_out(first + i, i);
      });
      const int64_t work = std::max<int64_t>(1, n * pixels_ * tile_rows_ * std::min(row_, panel_));
      parallel_for(units, ceil_div(kConvWorthAThread, work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t panel = i % panels, tile = i / panels % tiles_;
          for (int64_t image = 0; image < n; ++image) {
            sweep(image, i / (panels * tiles_), tile, panel);
          }
        }
      });
    }
    move_sums<Way::store>();
  }

 private:
  enum class Way : uint8_t { load, store };

  void lay_out(int64_t image, int64_t at) const {
    fill_frame(x_, image, 0, frame_.channels, frame_, frames_ + at * frame_.size());
    for (int64_t g = 0; g < s_.groups; ++g) {
      transpose_dy(dy_, image, g * s_.out_channels, s_.out_channels, row_,
                   dys_ + (at * s_.groups + g) * pixels_ * row_);
    }
  }

  void sweep(int64_t image, int64_t group, int64_t tile, int64_t panel) const {
    const int64_t first = begin_[static_cast<size_t>(tile)], lane = panel * panel_;
    ConvWeightSweep<T> s;
    s.taps = taps_.data() + first;
    s.rows = begin_[static_cast<size_t>(tile) + 1] - first;
    s.in = frames_ + image * frame_.size() + group * s_.in_channels * frame_.plane();
    s.out_rows = s_.y.out, s.cols = s_.x.out, s.in_row = s_.y.stride * frame_.row();
    s.dy = dys_ + (image * s_.groups + group) * pixels_ * row_ + lane;
    s.dy_row = row_;
    s.sum = sums_ + (group * static_cast<int64_t>(taps_.size()) + first) * row_ + lane;
    s.sum_row = row_;
    s.vectors = std::min(panel_, row_ - lane) / lanes_;
    run_sweep(s);
  }

  // sums[g][tap][o], between dw and the workspace: what is there is where the chains start.
  template <Way kWay>
  void move_sums() const {
    if (kWay == Way::load) {
      std::fill_n(sums_, s_.groups * static_cast<int64_t>(taps_.size()) * row_, T(0));
      if (dw_.write == Write::overwrite) return;
    }
    const View& to = dw_.view;
    const int64_t group_size = static_cast<int64_t>(taps_.size()) * row_;
    for (int64_t g = 0; g < s_.groups; ++g) {
      if (to.dtype == dtype_of<T>() && to.strides == row_major(to.shape)) {
        T* dw = static_cast<T*>(to.data) + g * s_.out_channels * count_;
        if (kWay == Way::load) {
          run_transpose(dw, count_, s_.out_channels, count_, sums_ + g * group_size, row_);
        } else {
          run_transpose(sums_ + g * group_size, row_, count_, s_.out_channels, dw, count_);
        }
      } else {
        move_elements<kWay>(g, sums_ + g * group_size);
      }
    }
  }
  template <Way kWay>
  void move_elements(int64_t group, T* sums) const {
    const View& to = dw_.view;
    visit_float(to.dtype, [&]<class Out>() {
      for (int64_t o = 0; o < s_.out_channels; ++o) {
        Out* channel = static_cast<Out*>(to.data) + (group * s_.out_channels + o) * to.strides[0];
        for (int64_t i = 0; i < count_; ++i) {
          const int64_t c = i / s_.kernel_size(), a = i % s_.kernel_size() / s_.x.kernel;
          Out* element =
              channel + c * to.strides[1] + a * to.strides[2] + i % s_.x.kernel * to.strides[3];
          T& sum = sums[i * row_ + o];
          if (kWay == Way::load) {
            sum = static_cast<T>(*element);
          } else {
            store(element, sum, Write::overwrite);  // the chain began with the old content
          }
        }
      }
    });
  }

  const ConstView& dy_;
  const ConstView& x_;
  const ConvShape& s_;
  const Dest& dw_;
  ConvFrame frame_;
  std::vector<int64_t> taps_;
  std::vector<int64_t> begin_;  // of each tile in taps
  int64_t tile_rows_, lanes_, panel_, count_, tiles_, row_, pixels_;
  T* sums_ = nullptr;
  T* dys_ = nullptr;
  T* frames_ = nullptr;
};

// Sixteen sums side by side, then as a tree; blocks of them in double. No lane depends on another
// image, so an image gives the same number in any batch; and the order is that of the pixels, not
// that of the memory.
template <class T, class In>
T sum_image(const In* from, int64_t height, int64_t width, int64_t stride_y, int64_t stride_x) {
  constexpr int64_t lanes = 16, most = 128 * lanes;
  const int64_t pixels = height * width;
  const bool one_run = height <= 1 || stride_y == width * stride_x;
  int64_t y = 0, x = 0;  // of the next pixel, if rows lie apart
  double total = 0;
  for (int64_t first = 0; first < pixels; first += most) {
    const int64_t n = std::min(most, pixels - first);
    T lane[lanes] = {};
    if (one_run) {
      const In* run = from + first * stride_x;
      int64_t k = 0;
      for (; k + lanes <= n; k += lanes) {
        for (int64_t i = 0; i < lanes; ++i) lane[i] += static_cast<T>(run[(k + i) * stride_x]);
      }
      for (int64_t i = 0; k + i < n; ++i) lane[i] += static_cast<T>(run[(k + i) * stride_x]);
    } else {
      for (int64_t k = 0; k < n; ++k) {
        lane[k % lanes] += static_cast<T>(from[y * stride_y + x * stride_x]);
        if (++x == width) x = 0, ++y;
      }
    }
    for (int64_t half = lanes / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    }
    total += static_cast<double>(lane[0]);
  }
  return static_cast<T>(total);
}

}  // namespace

void conv2d_grad_w(const ConstView& dy, const ConstView& x, const ConvParams& p, const Dest& dw) {
  if (numel(dw.view.shape) == 0) return;
  const ConvShape s = conv_shape(x.shape, dw.view.shape, p);
  x.dtype == DType::float64 ? WeightGradient<double>(dy, x, s, dw).run()
                            : WeightGradient<float>(dy, x, s, dw).run();
}

void conv2d_grad_bias(const ConstView& dy, const Dest& db) {
  const int64_t images = dy.shape[0], channels = dy.shape[1], pixels = dy.shape[2] * dy.shape[3];
  visit_float(dy.dtype, [&]<class In>() {
    using T = std::conditional_t<std::is_same_v<In, double>, double, float>;
    visit_float(db.view.dtype, [&]<class Out>() {
      const int64_t work = std::max<int64_t>(1, images * pixels);
      parallel_for(channels, ceil_div(kConvWorthAThread, work), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          Out* to = static_cast<Out*>(db.view.data) + c * db.view.strides[0];
          T sum = db.write == Write::add ? static_cast<T>(*to) : T(0);
          for (int64_t n = 0; n < images; ++n) {
            const In* from =
                static_cast<const In*>(dy.data) + n * dy.strides[0] + c * dy.strides[1];
            sum += sum_image<T>(from, dy.shape[2], dy.shape[3], dy.strides[2], dy.strides[3]);
          }
          store(to, sum, Write::overwrite);  // the chain began with the old content
        }
      });
    });
  });
}

}  // namespace accrue::kernels::cpu
