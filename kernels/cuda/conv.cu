// The convolution and its gradient for x as matrix products whose right factor is never there: row
// i of the left one is an output channel's weights, column j of the right one is what output pixel
// j reads. Each element is one chain over channels, rows and columns of the kernel, as on the CPU.
//
// For dx the image that is read is dy, once for each remainder of the position in x by the stride:
// the taps that reach it are those of the same remainder. Now read: gemm_tile.cuh.
#include <accrue/core/workspace.h>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cuda/conv_operands.cuh>
#include <accrue/kernels/cuda/gemm_tile.cuh>

namespace accrue::kernels::cuda {
namespace {

/// One direction of a pass: result r is Σ over t < taps of tap first_tap + t · tap_every of the
/// kernel times the input at r · step + origin + t · tap_step; it goes to out + r · out_step.
struct PassAxis {
  int results, in, step, origin;
  int taps, tap_step;
  int first_tap = 0, tap_every = 1;
  int out = 0, out_step = 1;
};
PassAxis forward(const ConvAxis& a) {
  return {.results = int(a.out),
          .in = int(a.in),
          .step = int(a.stride),
          .origin = -int(a.padding),
          .taps = int(a.kernel),
          .tap_step = int(a.dilation)};
}
/// Positions rest, rest + stride, … of x are the results: number t is reached through tap `at` from
/// y at t + (rest + padding - at · dilation) / stride, where that leaves no remainder.
PassAxis backward(const ConvAxis& a, int64_t rest) {
  const auto distance = [&](int64_t at) { return rest + a.padding - at * a.dilation; };
  const auto next = [&](int64_t at) {
    while (at < a.kernel && distance(at) % a.stride != 0) ++at;
    return at;
  };
  const int64_t first = next(0), every = next(first + 1) - first;
  return {.results = int(cpu::ceil_div(a.in - rest, a.stride)),
          .in = int(a.out),
          .step = 1,
          .origin = int(distance(first) / a.stride),
          .taps = first < a.kernel ? int(cpu::ceil_div(a.kernel - first, every)) : 0,
          .tap_step = -int(every * a.dilation / a.stride),
          .first_tap = int(first),
          .tap_every = int(every),
          .out = int(rest),
          .out_step = int(a.stride)};
}

struct Pass {
  ConstView in, w, bias;
  Dest out;
  long groups, channels, in_channels;  // channels of the result and of the input, in one group
  long w_channel, w_in;                // strides of w along them
  PassAxis y, x;

  ProductSize size() const {
    return {groups, channels, in.shape[0] * y.results * x.results, in_channels * y.taps * x.taps};
  }
};

/// The weights of a pass as matrices [group][k][channel].
template <class T>
struct PackedWeights {
  using C = ConvNumber<T>;
  static constexpr Along along = Along::line;
  C* data;
  long channels, chain;

  struct Line {
    const C* data;
    long channels;
    __device__ C operator()(long k) const { return data[k * channels]; }
  };
  __device__ Line line(long t, long i) const { return {data + t * chain * channels + i, channels}; }
};

/// Where the weights are: those of a group, of a channel of the result, then along the chain.
struct Unpacked {
  long group, channel, in, row, column;  // strides
  Divisor channels, chain;
  Taps taps;
  PassAxis rows, columns;

  explicit Unpacked(const Pass& p)
      : group(p.w.shape[0] / p.groups * p.w.strides[0]),
        channel(p.w_channel),
        in(p.w_in),
        row(p.w.strides[2]),
        column(p.w.strides[3]),
        channels(p.channels),
        chain(p.size().k),
        taps(p.y.taps, p.x.taps),
        rows(p.y),
        columns(p.x) {}
};

/// One number a thread.
template <class T>
__global__ void pack_kernel(const T* w, Unpacked from, long n, ConvNumber<T>* packed) {
  for (long i = thread_number(); i < n; i += thread_count()) {
    const long line = from.channels(i), group = from.chain(line);
    const Tap tap = from.taps[static_cast<int>(line - from.chain.times(group))];
    const long row = from.rows.first_tap + tap.row * from.rows.tap_every;
    const long column = from.columns.first_tap + tap.column * from.columns.tap_every;
    packed[i] = convert<ConvNumber<T>>(
        w[group * from.group + (i - from.channels.times(line)) * from.channel +
          tap.channel * from.in + row * from.row + column * from.column]);
  }
}

/// Result pixel j of a pass is a line: the input that it reads, 0 outside.
template <class T>
struct ReadPixels {
  using C = ConvNumber<T>;
  static constexpr Along along = Along::line;
  const T* data;
  Places4 place;
  Pixels results;
  Taps taps;
  PassAxis rows, columns;
  long group;  // channels

  explicit ReadPixels(const Pass& p)
      : data(static_cast<const T*>(p.in.data)),
        place(p.in.strides),
        results({p.in.shape[0], 1, p.y.results, p.x.results}),
        taps(p.y.taps, p.x.taps),
        rows(p.y),
        columns(p.x),
        group(p.in_channels) {}

  struct Line {
    const ReadPixels* all;
    const T* first;  // of the image and group
    int row, column;
    __device__ C operator()(long k) const {
      const Tap tap = all->taps[static_cast<int>(k)];
      const int r = row + tap.row * all->rows.tap_step;
      const int c = column + tap.column * all->columns.tap_step;
      if (r < 0 || r >= all->rows.in || c < 0 || c >= all->columns.in) return 0;
      const Places4& at = all->place;
      return convert<C>(first[tap.channel * at.channel + r * at.row + c * at.column]);
    }
  };
  __device__ Line line(long t, long j) const {
    const Pixel<int> p = results[static_cast<int>(j)];
    return {this, data + p.image * place.image + t * group * place.channel,
            p.row * rows.step + rows.origin, p.column * columns.step + columns.origin};
  }
};

template <class T>
struct PassResult {
  using Number = ConvNumber<T>;
  ConvTarget<T> y;
  const T* bias;
  long bias_stride;
  Places4 place;
  Pixels results;
  long channels;
  PassAxis rows, columns;

  explicit PassResult(const Pass& p)
      : y(p.out),
        bias(static_cast<const T*>(p.bias.data)),
        bias_stride(bias ? p.bias.strides[0] : 0),
        place(p.out.view.strides),
        results({p.in.shape[0], 1, p.y.results, p.x.results}),
        channels(p.channels),
        rows(p.y),
        columns(p.x) {}

  __device__ Number start(long t, long i, long) const {
    return bias ? convert<Number>(bias[(t * channels + i) * bias_stride]) : Number(0);
  }
  __device__ void finish(long t, long i, long j, Number sum) const {
    const Pixel<int> p = results[static_cast<int>(j)];
    const long channel = (t * channels + i) * place.channel;
    y.set(channel + place(Pixel<int>{p.image, 0, rows.out + p.row * rows.out_step,
                                     columns.out + p.column * columns.out_step}),
          sum);
  }
};

void run(const char* name, const Pass& p) {
  const ProductSize size = p.size();
  if (size.empty()) return;
  const Launcher on(p.out.view.device);
  visit_float(p.in.dtype, [&]<class T>() {
    using C = ConvNumber<T>;
    const long n = size.batches * size.k * size.m;
    const Workspace packed(static_cast<size_t>(n) * sizeof(C), p.out.view.device);
    const PackedWeights<T> weights{packed.as<C>(), size.m, size.k};
    if (n > 0) {
      on.check(LAUNCH((pack_kernel<T>), blocks_for(n), kThreads, 0, on.stream(),
                      static_cast<const T*>(p.w.data), Unpacked(p), n, weights.data),
               name);
    }
    launch_product<kLargestTile<T>>(on, name, weights, ReadPixels<T>(p), PassResult<T>(p), size);
  });
}

}  // namespace

void conv2d(const ConstView& x, const ConstView& w, const ConstView& bias, const ConvParams& p,
            const Dest& y) {
  if (numel(y.view.shape) == 0) return;
  const ConvShape s = conv_shape(x.shape, w.shape, p);
  check_dtypes("conv2d", x, w, y);
  if (bias.data) check_dtypes("conv2d", x, bias, y);
  check_sizes("conv2d", s);
  for_images(s, [&](long first, long n) {
    run("conv2d",
        {images_of(x, first, n), w, bias, images_of(y, first, n), s.groups, s.out_channels,
         s.in_channels, w.strides[0], w.strides[1], forward(s.y), forward(s.x)});
  });
}

void conv2d_grad_x(const ConstView& dy, const ConstView& w, const ConvParams& p, const Dest& dx) {
  if (numel(dx.view.shape) == 0) return;
  const ConvShape s = conv_shape(dx.view.shape, w.shape, p);
  check_dtypes("conv2d_grad_x", dy, w, dx);
  check_sizes("conv2d_grad_x", s);
  for_images(s, [&](long first, long n) {
    for (int64_t i = 0; i < std::min(s.y.stride, s.y.in); ++i) {
      for (int64_t j = 0; j < std::min(s.x.stride, s.x.in); ++j) {
        run("conv2d_grad_x", {images_of(dy, first, n), w, ConstView{}, images_of(dx, first, n),
                              s.groups, s.in_channels, s.out_channels, w.strides[1], w.strides[0],
                              backward(s.y, i), backward(s.x, j)});
      }
    }
  });
}

}  // namespace accrue::kernels::cuda
