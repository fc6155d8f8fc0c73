// Pooling, one element of a result a thread. A gradient is gathered: a thread asks which windows
// hold its element, and adds them up in their order, so windows may overlap.
#include <limits>

#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/images.cuh>
#include <accrue/kernels/cuda/launch.cuh>
#include <accrue/kernels/pool_window.h>

namespace accrue::kernels::cuda {
namespace {

template <class X>
struct Images {
  X at;
  Places4 place;
  long height, width;

  explicit Images(const ConstView& x)
      : at(flat(x)), place(x.strides), height(x.shape[2]), width(x.shape[3]) {}
};
template <class Y>
struct Results {
  Y at;
  Places4 place;
  Pixels pixels;
  long count, width;

  explicit Results(const Dest& y)
      : at(flat(y)),
        place(y.view.strides),
        pixels(y.view.shape),
        count(numel(y.view.shape)),
        width(y.view.shape[3]) {}
};

/// One window a thread.
template <class C, class X, class Y>
__global__ void max_pool2d_kernel(Images<X> x, PoolParams p, Results<Y> y, int32_t* index) {
  for (long i = thread_number(); i < y.count; i += thread_count()) {
    const Pixel<long> at = y.pixels[i];
    const Span rows = span_of(p, 0, x.height, at.row), cols = span_of(p, 1, x.width, at.column);
    const long plane = x.place.plane(at);
    C best = std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                  : std::numeric_limits<C>::lowest();
    int32_t place = -1;
    for (long r = rows.begin; r < rows.end; r += rows.step) {
      for (long c = cols.begin; c < cols.end; c += cols.step) {
        const C value = x.at[plane + r * x.place.row + c * x.place.column];
        const bool is_nan = best != best;
        if (place >= 0 && (value <= best || is_nan)) continue;
        best = value;
        place = static_cast<int32_t>(r * x.width + c);
      }
    }
    index[i] = place;
    y.at.set(y.place(at), best);
  }
}

/// One element of dx a thread.
template <class C, class X, class Y>
__global__ void max_pool2d_grad_kernel(Images<X> dy, const int32_t* index, PoolParams p,
                                       Results<Y> dx) {
  for (long i = thread_number(); i < dx.count; i += thread_count()) {
    const Pixel<long> at = dx.pixels[i];
    const Windows rows = windows_around(p, 0, at.row, dy.height);
    const Windows cols = windows_around(p, 1, at.column, dy.width);
    const long plane = dy.place.plane(at);
    const int32_t* chosen = index + dx.pixels.plane(at) * dy.height * dy.width;
    C sum = 0;
    for (long r = rows.begin; r < rows.end; ++r) {
      for (long c = cols.begin; c < cols.end; ++c) {
        if (chosen[r * dy.width + c] == at.row * dx.width + at.column)
          sum += dy.at[plane + r * dy.place.row + c * dy.place.column];
      }
    }
    dx.at.set(dx.place(at), sum);
  }
}

/// One window a thread.
template <class C, class X, class Y>
__global__ void avg_pool2d_kernel(Images<X> x, PoolParams p, Results<Y> y) {
  for (long i = thread_number(); i < y.count; i += thread_count()) {
    const Pixel<long> at = y.pixels[i];
    const Span rows = span_of(p, 0, x.height, at.row), cols = span_of(p, 1, x.width, at.column);
    const long plane = x.place.plane(at);
    double sum = 0;
    for (long r = rows.begin; r < rows.end; ++r) {
      for (long c = cols.begin; c < cols.end; ++c)
        sum += static_cast<double>(x.at[plane + r * x.place.row + c * x.place.column]);
    }
    y.at.set(y.place(at), static_cast<C>(sum / divisor_of<double>(p, rows, cols)));
  }
}

/// One element of dx a thread.
template <class C, class X, class Y>
__global__ void avg_pool2d_grad_kernel(Images<X> dy, long height, PoolParams p, Results<Y> dx) {
  for (long i = thread_number(); i < dx.count; i += thread_count()) {
    const Pixel<long> at = dx.pixels[i];
    const Windows rows = windows_around(p, 0, at.row, dy.height);
    const Windows cols = windows_around(p, 1, at.column, dy.width);
    const long plane = dy.place.plane(at);
    C sum = 0;
    for (long r = rows.begin; r < rows.end; ++r) {
      const Span covered = span_of(p, 0, height, r);
      for (long c = cols.begin; c < cols.end; ++c) {
        sum += dy.at[plane + r * dy.place.row + c * dy.place.column] /
               divisor_of<C>(p, covered, span_of(p, 1, dx.width, c));
      }
    }
    dx.at.set(dx.place(at), sum);
  }
}

/// Calls f<C, X, Y>() for the floating dtype of x, unless there is nothing to write.
template <class F>
void visit_images(const ConstView& x, const Dest& y, F&& f) {
  if (!is_floating(x.dtype)) detail::not_floating(x.dtype);
  if (numel(y.view.shape) != 0) visit_operands(x.dtype, f, flat(x), flat(y));
}
unsigned blocks_of(const Dest& y) { return blocks_for(numel(y.view.shape)); }

}  // namespace

void max_pool2d(const ConstView& x, const PoolParams& p, const Dest& y, const Dest& index) {
  const Launcher on(y.view.device);
  const auto launch = [&]<class C, class X, class Y>() {
    if (numel(y.view.shape) == 0) return;
    on.check(LAUNCH((max_pool2d_kernel<C, X, Y>), blocks_of(y), kThreads, 0, on.stream(),
                    Images<X>(x), p, Results<Y>(y), static_cast<int32_t*>(index.view.data)),
             "max_pool2d");
  };
  if (is_floating(x.dtype))
    visit_images(x, y, launch);
  else
    launch.operator()<int64_t, Source<int64_t>, Target<int64_t>>();
}

void max_pool2d_grad(const ConstView& dy, const ConstView& index, const PoolParams& p,
                     const Dest& dx) {
  const Launcher on(dx.view.device);
  visit_images(dy, dx, [&]<class C, class X, class Y>() {
    on.check(LAUNCH((max_pool2d_grad_kernel<C, X, Y>), blocks_of(dx), kThreads, 0, on.stream(),
                    Images<X>(dy), static_cast<const int32_t*>(index.data), p, Results<Y>(dx)),
             "max_pool2d_grad");
  });
}

void avg_pool2d(const ConstView& x, const PoolParams& p, const Dest& y) {
  const Launcher on(y.view.device);
  visit_images(x, y, [&]<class C, class X, class Y>() {
    on.check(LAUNCH((avg_pool2d_kernel<C, X, Y>), blocks_of(y), kThreads, 0, on.stream(),
                    Images<X>(x), p, Results<Y>(y)),
             "avg_pool2d");
  });
}

void avg_pool2d_grad(const ConstView& dy, const PoolParams& p, const Dest& dx) {
  const Launcher on(dx.view.device);
  const long height = dx.view.shape[2];
  visit_images(dy, dx, [&]<class C, class X, class Y>() {
    on.check(LAUNCH((avg_pool2d_grad_kernel<C, X, Y>), blocks_of(dx), kThreads, 0, on.stream(),
                    Images<X>(dy), height, p, Results<Y>(dx)),
             "avg_pool2d_grad");
  });
}

}  // namespace accrue::kernels::cuda
