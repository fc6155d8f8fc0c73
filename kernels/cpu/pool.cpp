// Pooling works plane by plane. A gradient is gathered in a plane of scratch memory, window after
// window, and stored once: so windows may overlap, and the destination may have any strides.
#include <algorithm>
#include <limits>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/pool_pairs.h>
#include <accrue/kernels/cpu/scratch.h>
#include <accrue/kernels/pool_window.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cpu {
namespace {

constexpr int64_t kWorthAThread = 50'000;  // elements looked at

// What elements are compared and summed in.
template <class In>
using Number = std::conditional_t<std::is_integral_v<In>, int64_t,
                                  std::conditional_t<std::is_same_v<In, double>, double, float>>;

// body(plane) for every plane of an [n, c, h, w] tensor, each of `work` elements.
template <class Body>
void for_each_plane(const Dims& shape, int64_t work, const Body& body) {
  const int64_t planes = shape[0] * shape[1];
  parallel_for(planes, ceil_div(kWorthAThread, std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin; plane < end; ++plane) body(plane);
               });
}

// Where plane i of [n, c, …] begins.
int64_t plane_offset(const Dims& shape, const Dims& strides, int64_t i) {
  return i / shape[1] * strides[0] + i % shape[1] * strides[1];
}

bool is_pairs(const ConstView& x, const PoolParams& p, const View& y) {
  constexpr std::array<int64_t, 2> two = {2, 2}, one = {1, 1}, zero = {0, 0};
  return x.dtype == DType::float32 && p.kernel == two && p.stride == two && p.dilation == one &&
         p.padding == zero && x.strides[3] == 1 && y.strides[3] == 1 &&
         2 * y.shape[2] <= x.shape[2] && 2 * y.shape[3] <= x.shape[3];
}

template <class In>
void max_of_plane(const ConstView& x, const In* from, const PoolParams& p, const Dest& dest,
                  int64_t y_offset, int32_t* index) {
  const View& y = dest.view;
  using T = Number<In>;
  for (int64_t i = 0; i < y.shape[2]; ++i) {
    const Span rows = span_of(p, 0, x.shape[2], i);
    for (int64_t j = 0; j < y.shape[3]; ++j, ++index) {
      const Span cols = span_of(p, 1, x.shape[3], j);
      T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::lowest();
      auto place = int32_t{-1};
      for (int64_t r = rows.begin; r < rows.end; r += rows.step) {
        const In* row = from + r * x.strides[2];
        for (int64_t c = cols.begin; c < cols.end; c += cols.step) {
          const T value = static_cast<T>(row[c * x.strides[3]]);
          const bool stays = place >= 0 && (value <= best || is_nan(best));
          best = stays ? best : value;
          place = stays ? place : static_cast<int32_t>(r * x.shape[3] + c);
        }
      }
      *index = place;
      store(static_cast<In*>(y.data) + y_offset + i * y.strides[2] + j * y.strides[3], best,
            dest.write);
    }
  }
}

// Stores what was gathered for one plane.
template <class T>
void store_plane(const T* sums, const Dest& dx, int64_t plane) {
  const View& to = dx.view;
  const int64_t height = to.shape[2], width = to.shape[3];
  visit_float(to.dtype, [&]<class Out>() {
    Out* out = static_cast<Out*>(to.data) + plane_offset(to.shape, to.strides, plane);
    for (int64_t r = 0; r < height; ++r, out += to.strides[2], sums += width) {
      if (to.strides[3] == 1) {
        for (int64_t c = 0; c < width; ++c) store(out + c, sums[c], dx.write);
      } else {
        for (int64_t c = 0; c < width; ++c) store(out + c * to.strides[3], sums[c], dx.write);
      }
    }
  });
}

// dx of every plane: gather(dy of the plane, sums of the plane, plane) adds to what is 0 at first.
template <class Gather>
void gradient(const ConstView& dy, const Dest& dx, const Gather& gather) {
  const int64_t size = dx.view.shape[2] * dx.view.shape[3];
  visit_float(dy.dtype, [&]<class In>() {
    using T = Number<In>;
    for_each_plane(dx.view.shape, size + dy.shape[2] * dy.shape[3], [&](int64_t plane) {
      const Scratch scratch(static_cast<size_t>(size) * sizeof(T));
      T* const sums = scratch.as<T>();
      std::fill_n(sums, size, T(0));
      gather(static_cast<const In*>(dy.data) + plane_offset(dy.shape, dy.strides, plane), sums,
             plane);
      store_plane(sums, dx, plane);
    });
  });
}

}  // namespace

void max_pool2d(const ConstView& x, const PoolParams& p, const Dest& y, const Dest& index) {
  const View& out = y.view;
  const int64_t size = out.shape[2] * out.shape[3];
  const bool pairs = is_pairs(x, p, out) && y.write == Write::overwrite;
  visit_any(x.dtype, [&]<class In>() {
    for_each_plane(out.shape, size * p.kernel[0] * p.kernel[1], [&](int64_t plane) {
      const In* from = static_cast<const In*>(x.data) + plane_offset(x.shape, x.strides, plane);
      int32_t* at = static_cast<int32_t*>(index.view.data) + plane * size;
      const int64_t to = plane_offset(out.shape, out.strides, plane);
      if constexpr (std::is_same_v<In, float>) {
        for (int64_t i = 0; pairs && i < out.shape[2]; ++i) {
          const float* row = from + 2 * i * x.strides[2];
          max_of_pairs(row, row + x.strides[2], out.shape[3],
                       static_cast<int32_t>(2 * i * x.shape[3]), static_cast<int32_t>(x.shape[3]),
                       static_cast<float*>(out.data) + to + i * out.strides[2],
                       at + i * out.shape[3]);
        }
        if (pairs) return;
      }
      max_of_plane(x, from, p, y, to, at);
    });
  });
}

void max_pool2d_grad(const ConstView& dy, const ConstView& index, const PoolParams&,
                     const Dest& dx) {
  const int64_t height = dy.shape[2], width = dy.shape[3];
  gradient(dy, dx, [&](const auto* from, auto* sums, int64_t plane) {
    using T = std::remove_pointer_t<decltype(sums)>;
    const int32_t* at = static_cast<const int32_t*>(index.data) + plane * height * width;
    for (int64_t i = 0; i < height; ++i, from += dy.strides[2]) {
      for (int64_t j = 0; j < width; ++j, ++at) {
        if (*at >= 0) sums[*at] += static_cast<T>(from[j * dy.strides[3]]);
      }
    }
  });
}

void avg_pool2d(const ConstView& x, const PoolParams& p, const Dest& y) {
  const View& out = y.view;
  visit_float(x.dtype, [&]<class In>() {
    const int64_t work = out.shape[2] * out.shape[3] * p.kernel[0] * p.kernel[1];
    for_each_plane(out.shape, work, [&](int64_t plane) {
      const In* from = static_cast<const In*>(x.data) + plane_offset(x.shape, x.strides, plane);
      In* to = static_cast<In*>(out.data) + plane_offset(out.shape, out.strides, plane);
      for (int64_t i = 0; i < out.shape[2]; ++i) {
        const Span rows = span_of(p, 0, x.shape[2], i);
        for (int64_t j = 0; j < out.shape[3]; ++j) {
          const Span cols = span_of(p, 1, x.shape[3], j);
          double sum = 0;
          for (int64_t r = rows.begin; r < rows.end; ++r) {
            const In* row = from + r * x.strides[2];
            for (int64_t c = cols.begin; c < cols.end; ++c) {
              sum += static_cast<double>(row[c * x.strides[3]]);
            }
          }
          store(to + i * out.strides[2] + j * out.strides[3],
                static_cast<Number<In>>(sum / divisor_of<double>(p, rows, cols)), y.write);
        }
      }
    });
  });
}

void avg_pool2d_grad(const ConstView& dy, const PoolParams& p, const Dest& dx) {
  const int64_t height = dx.view.shape[2], width = dx.view.shape[3];
  gradient(dy, dx, [&](const auto* from, auto* sums, int64_t) {
    using T = std::remove_pointer_t<decltype(sums)>;
    for (int64_t i = 0; i < dy.shape[2]; ++i) {
      const Span rows = span_of(p, 0, height, i);
      for (int64_t j = 0; j < dy.shape[3]; ++j) {
        const Span cols = span_of(p, 1, width, j);
        const T share = static_cast<T>(from[i * dy.strides[2] + j * dy.strides[3]]) /
                        divisor_of<T>(p, rows, cols);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
          for (int64_t c = cols.begin; c < cols.end; ++c) sums[r * width + c] += share;
        }
      }
    }
  });
}

}  // namespace accrue::kernels::cpu
