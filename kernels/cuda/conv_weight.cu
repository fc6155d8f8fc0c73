// The gradients of the convolution for w and bias: sums over all pixels of all images.
//
// dw is a matrix product whose factors are dy and what each tap of the kernel reads for it, and
// whose chains are long: a device has more threads than dw has elements. So unless micro-batches
// must not show, chains are cut into pieces, a number of them that depends on sizes alone, and the
// pieces are added up in their order.
#include <accrue/core/workspace.h>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cuda/conv_operands.cuh>
#include <accrue/kernels/cuda/gemm_tile.cuh>
#include <accrue/kernels/split_invariant.h>

namespace accrue::kernels::cuda {
namespace {

/// One direction: what a tap reads for a pixel of y.
struct ReadAxis {
  int in, stride, padding, dilation;
  explicit ReadAxis(const ConvAxis& a)
      : in(int(a.in)), stride(int(a.stride)), padding(int(a.padding)), dilation(int(a.dilation)) {}
};

/// The pixels of y, over which the chains run, in pieces: batch t of the product is piece
/// t % count of group t / count.
struct Pieces {
  int pixels, count, length;

  __device__ long group(long t) const { return t / count; }
  __device__ int first(long t) const { return static_cast<int>(t % count) * length; }
};

/// Channel i of y is a line: dy at the pixels of a piece.
template <class T>
struct Channels {
  using C = ConvNumber<T>;
  static constexpr Along along = Along::chain;
  const T* dy;
  Places4 place;
  Pixels pixels;  // of one channel
  Pieces pieces;
  long group;  // channels

  struct Line {
    const Channels* all;
    const T* channel;
    int first;
    __device__ C operator()(long k) const {
      const int pixel = first + static_cast<int>(k);
      return pixel < all->pieces.pixels ? convert<C>(channel[all->place(all->pixels[pixel])])
                                        : C(0);
    }
  };
  __device__ Line line(long t, long i) const {
    return {this, dy + (pieces.group(t) * group + i) * place.channel, pieces.first(t)};
  }
};

/// Tap j of the kernel is a line: what it reads of x for the pixels of a piece, 0 outside.
template <class T>
struct TapReads {
  using C = ConvNumber<T>;
  static constexpr Along along = Along::chain;
  const T* x;
  Places4 place;
  Pixels pixels;  // of one channel of y
  Taps taps;
  Pieces pieces;
  long group;  // channels
  ReadAxis rows, columns;

  struct Line {
    const TapReads* all;
    const T* channel;
    int row, column, first;
    __device__ C operator()(long k) const {
      const int pixel = first + static_cast<int>(k);
      const Pixel<int> p = all->pixels[pixel];
      const int r = row + p.row * all->rows.stride, c = column + p.column * all->columns.stride;
      if (pixel >= all->pieces.pixels || r < 0 || r >= all->rows.in || c < 0 ||
          c >= all->columns.in)
        return 0;
      const Places4& at = all->place;
      return convert<C>(channel[p.image * at.image + r * at.row + c * at.column]);
    }
  };
  __device__ Line line(long t, long j) const {
    const Tap tap = taps[static_cast<int>(j)];
    return {this, x + (pieces.group(t) * group + tap.channel) * place.channel,
            tap.row * rows.dilation - rows.padding, tap.column * columns.dilation - columns.padding,
            pieces.first(t)};
  }
};

/// Element (i, j) of group g of dw.
template <class T>
struct Weights {
  ConvTarget<T> dw;
  Places4 place;
  Taps taps;
  long group;  // channels

  __device__ long operator()(long g, long i, long j) const {
    const Tap tap = taps[static_cast<int>(j)];
    return (g * group + i) * place.image + place(Pixel<int>{0, tap.channel, tap.row, tap.column});
  }
};

/// The chains go on from dw itself, or their pieces are kept apart: [t][i][j].
template <class T>
struct WeightSums {
  using Number = ConvNumber<T>;
  Weights<T> weights;
  Number* apart;
  long m, n;

  __device__ Number start(long t, long i, long j) const {
    return apart ? Number(0) : weights.dw.start(weights(t, i, j));
  }
  __device__ void finish(long t, long i, long j, Number sum) const {
    if (apart)
      apart[(t * m + i) * n + j] = sum;
    else
      weights.dw.finish(weights(t, i, j), sum);
  }
};

/// One element of dw a thread: its pieces, in their order, onto what it holds.
template <class T>
__global__ void add_pieces_kernel(WeightSums<T> sums, Divisor n, Divisor m, long count,
                                  long pieces) {
  for (long at = thread_number(); at < count; at += thread_count()) {
    const long line = n(at), g = m(line), in_group = at - g * sums.m * sums.n;
    const long place = sums.weights(g, line - m.times(g), at - n.times(line));
    auto sum = sums.weights.dw.start(place);
#pragma unroll 8
    for (long piece = 0; piece < pieces; ++piece)
      sum += sums.apart[(g * pieces + piece) * sums.m * sums.n + in_group];
    sums.weights.dw.finish(place, sum);
  }
}

/// So many pieces that a large device has enough tiles to compute, none of them short.
long count_of_pieces(long groups, long m, long n, long pixels) {
  constexpr long shortest = 1024;
  const bool narrow = m <= SmallTile::rows || n <= SmallTile::columns;
  const long side = narrow ? SmallTile::rows : MediumTile::rows, enough = narrow ? 1024 : 256;
  const long tiles = groups * tiles_of(m, side) * tiles_of(n, side);
  return std::max(1L, std::min(enough / tiles, pixels / shortest));
}

template <class T>
void add_products(const ConstView& dy, const ConstView& x, const ConvShape& s, const Dest& dw) {
  using C = ConvNumber<T>;
  const long m = s.out_channels, n = s.in_channels * s.kernel_size();
  const long pixels = dy.shape[0] * s.y.out * s.x.out;
  const long count = split_invariant() ? 1 : count_of_pieces(s.groups, m, n, pixels);
  const Pieces pieces{int(pixels), int(count), int(cpu::ceil_div(pixels, count))};
  const Taps taps(s.y.kernel, s.x.kernel);
  const Pixels of_channel({dy.shape[0], 1, s.y.out, s.x.out});
  const Launcher on(dw.view.device);
  const long elements = s.groups * m * n;
  const Workspace apart(count == 1 ? 0 : static_cast<size_t>(count * elements) * sizeof(C),
                        dw.view.device);
  const WeightSums<T> sums{{ConvTarget<T>(dw), Places4(dw.view.strides), taps, m},
                           count == 1 ? nullptr : apart.as<C>(),
                           m,
                           n};
  launch_product<kLargestTile<T>>(
      on, "conv2d_grad_w",
      Channels<T>{static_cast<const T*>(dy.data), Places4(dy.strides), of_channel, pieces, m},
      TapReads<T>{static_cast<const T*>(x.data), Places4(x.strides), of_channel, taps, pieces,
                  s.in_channels, ReadAxis(s.y), ReadAxis(s.x)},
      sums, {s.groups * count, m, n, pieces.length});
  if (count == 1) return;
  on.check(LAUNCH((add_pieces_kernel<T>), blocks_for(elements), kThreads, 0, on.stream(), sums,
                  Divisor(n), Divisor(m), elements, count),
           "conv2d_grad_w");
}

/// Sixteen threads a plane, side by side, then as a tree; blocks of them in double, as on the CPU.
/// No thread's sum depends on another image, so an image gives the same number in any batch.
template <class C, class X>
__global__ void sum_planes_kernel(X dy, long planes, long pixels, C* sums) {
  constexpr long lanes = 16, most = 128 * lanes;
  const long lane = threadIdx.x % lanes;
  // The two planes of a warp begin together: both or none take part in a shuffle.
  for (long first = thread_number() / 32 * 2; first < planes; first += thread_count() / lanes) {
    const long plane = first + threadIdx.x % 32 / lanes;
    const long end = plane < planes ? pixels : 0;
    double total = 0;
    for (long block = 0; block < pixels; block += most) {
      C sum = 0;
      for (long k = block + lane; k < min(block + most, end); k += lanes)
        sum += dy[plane * pixels + k];
#pragma unroll
      for (int half = lanes / 2; half > 0; half /= 2) sum += __shfl_down_sync(kFullMask, sum, half);
      total += static_cast<double>(sum);
    }
    if (lane == 0 && plane < planes) sums[plane] = static_cast<C>(total);
  }
}

/// One channel a thread: its planes' sums, image after image, onto what db holds.
template <class C, class Y>
__global__ void add_planes_kernel(const C* sums, long images, long channels, Y db) {
  for (long c = thread_number(); c < channels; c += thread_count()) {
    C sum = db.start(c);
#pragma unroll 8
    for (long n = 0; n < images; ++n) sum += sums[n * channels + c];
    db.finish(c, sum);
  }
}

}  // namespace

void conv2d_grad_w(const ConstView& dy, const ConstView& x, const ConvParams& p, const Dest& dw) {
  if (numel(dw.view.shape) == 0) return;
  const ConvShape s = conv_shape(x.shape, dw.view.shape, p);
  check_dtypes("conv2d_grad_w", dy, x, dw);
  check_sizes("conv2d_grad_w", s);
  Dest to = dw;
  for_images(s, [&](long first, long n) {
    visit_float(x.dtype, [&]<class T>() {
      add_products<T>(images_of(dy, first, n), images_of(x, first, n), s, to);
    });
    to.write = Write::add;
  });
}

void conv2d_grad_bias(const ConstView& dy, const Dest& db) {
  const long images = dy.shape[0], channels = dy.shape[1], planes = images * channels;
  if (channels == 0) return;
  const Launcher on(db.view.device);
  visit_operands(
      dy.dtype,
      [&]<class C, class X, class Y>() {
        const Workspace sums(static_cast<size_t>(planes) * sizeof(C), db.view.device);
        if (planes > 0) {
          on.check(LAUNCH((sum_planes_kernel<C, X>), blocks_for(planes, kThreads / 16), kThreads, 0,
                          on.stream(), X(dy), planes, dy.shape[2] * dy.shape[3], sums.as<C>()),
                   "conv2d_grad_bias");
        }
        on.check(LAUNCH((add_planes_kernel<C, Y>), blocks_for(channels), kThreads, 0, on.stream(),
                        sums.as<C>(), images, channels, Y(db)),
                 "conv2d_grad_bias");
      },
      dy, db);
}

}  // namespace accrue::kernels::cuda
