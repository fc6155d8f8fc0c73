// What each operator of the table computes, written as a student would: one number at a time, in
// float64, with no thought for speed. Nothing here is shared with the library.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/ops/op_case.h"

namespace accrue::testing::table {

/// The array of that shape whose element at `index` is f(index).
template <class F>
Array build(const Dims& shape, F&& f) {
  Array y{shape, {}};
  const int64_t n = numel(shape);
  Dims index = Dims::filled(shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i;
    for (int d = shape.size() - 1; d >= 0; --d) {
      index[d] = rest % shape[d];
      rest /= shape[d];
    }
    y.v.push_back(f(index));
  }
  return y;
}
/// Σ f(index) over all indices of a shape.
template <class F>
double sum_over(const Dims& shape, F&& f) {
  const Array all = build(shape, f);
  return std::accumulate(all.v.begin(), all.v.end(), 0.0);
}

/// x at an index of the shape it is stretched to.
inline double stretched(const Array& x, const Dims& index) {
  Dims at;
  const int gone = index.size() - x.shape.size();
  for (int d = 0; d < x.shape.size(); ++d) at.push_back(x.shape[d] == 1 ? 0 : index[d + gone]);
  return x(at);
}
inline Dims common_shape(const Arrays& x) {
  Dims shape;
  for (const Array& a : x) shape = broadcast("reference", shape, a.shape);
  return shape;
}

/// y = f(x), y = f(a, b), y = f(a, b, c), element by element over the broadcast.
inline OpReference each(double (*f)(double)) {
  return
      [f](const Arrays& x) { return build(x[0].shape, [&](const Dims& i) { return f(x[0](i)); }); };
}
inline OpReference each(double (*f)(double, double)) {
  return [f](const Arrays& x) {
    return build(common_shape(x),
                 [&](const Dims& i) { return f(stretched(x[0], i), stretched(x[1], i)); });
  };
}
inline OpReference each(double (*f)(double, double, double)) {
  return [f](const Arrays& x) {
    return build(common_shape(x), [&](const Dims& i) {
      return f(stretched(x[0], i), stretched(x[1], i), stretched(x[2], i));
    });
  };
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double gelu(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
inline double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/// y[i] = x[from(i)]: everything that only moves elements.
template <class Shape, class From>
OpReference moved(Shape shape, From from) {
  return [=](const Arrays& x) {
    return build(shape(x[0].shape), [&](const Dims& i) { return x[0](from(i, x[0].shape)); });
  };
}
/// The same elements in row-major order under another shape.
template <class Shape>
OpReference reshaped(Shape shape) {
  return [=](const Arrays& x) { return Array{shape(x[0].shape), x[0].v}; };
}
inline OpReference same() {
  return [](const Arrays& x) { return x[0]; };
}

/// f(the numbers along the reduced dimensions, in row-major order) for each kept index.
using Fold = double (*)(const std::vector<double>&);
inline Array fold(const Array& x, const Dims& dims, bool keep, const Fold& f) {
  std::vector<bool> gone(static_cast<size_t>(x.shape.size()), dims.empty());
  for (int64_t d : dims) gone[static_cast<size_t>(d < 0 ? d + x.shape.size() : d)] = true;
  Dims kept = x.shape, within = x.shape, shape;
  for (int d = 0; d < x.shape.size(); ++d) {
    const bool out = gone[static_cast<size_t>(d)];
    (out ? kept : within)[d] = 1;
    if (!out || keep) shape.push_back(kept[d]);
  }
  Array y = build(kept, [&](const Dims& at) {
    return f(build(within, [&](Dims i) {
               for (int d = 0; d < i.size(); ++d) i[d] += at[d];
               return x(i);
             }).v);
  });
  y.shape = shape;
  return y;
}
inline OpReference reduced(const Fold& f, const Dims& dims = {}, bool keep = false) {
  return [=](const Arrays& x) { return fold(x[0], dims, keep, f); };
}
inline double total(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0);
}
inline double average(const std::vector<double>& v) {
  return total(v) / static_cast<double>(v.size());
}
inline double largest(const std::vector<double>& v) {
  return *std::max_element(v.begin(), v.end());
}
inline double smallest(const std::vector<double>& v) {
  return *std::min_element(v.begin(), v.end());
}
inline double where_largest(const std::vector<double>& v) {
  return static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin());
}
inline double where_smallest(const std::vector<double>& v) {
  return static_cast<double>(std::min_element(v.begin(), v.end()) - v.begin());
}
inline double log_sum_exp(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += std::exp(x);
  return std::log(sum);
}

inline Array softmax(const Array& x, int dim) {
  const Array lse = fold(x, {dim}, true, log_sum_exp);
  return build(x.shape, [&](const Dims& i) { return std::exp(x(i) - stretched(lse, i)); });
}
inline Array log_softmax(const Array& x, int dim) {
  const Array lse = fold(x, {dim}, true, log_sum_exp);
  return build(x.shape, [&](const Dims& i) { return x(i) - stretched(lse, i); });
}

inline Dims with(Dims shape, int dim, int64_t size) {
  shape[dim] = size;
  return shape;
}
inline Dims without(Dims shape, int dim) {
  shape.erase(dim);
  return shape;
}
inline Dims joined(Dims a, const Dims& b) {
  for (int64_t n : b) a.push_back(n);
  return a;
}
/// Dimensions from..end of a shape.
inline Dims part(const Dims& shape, int from, int end) {
  Dims out;
  for (int d = from; d < end; ++d) out.push_back(shape[d]);
  return out;
}

/// a · b, with batches that broadcast; a vector on the left is a row, on the right a column.
inline Array matmul(const Arrays& x) {
  Array a = x[0], b = x[1];
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a.shape.insert(0, 1);
  if (column) b.shape.push_back(1);
  const int ra = a.shape.size(), rb = b.shape.size();
  const Dims batch = broadcast("reference", part(a.shape, 0, ra - 2), part(b.shape, 0, rb - 2));
  const auto matrix = [](const Array& m, const Dims& at, int64_t i, int64_t j) {
    Dims index = at;
    index.push_back(i);
    index.push_back(j);
    return stretched(m, index);  // batches stretch; the caller keeps i and j inside
  };
  const int64_t inner = a.shape[ra - 1];
  const Array y = build(joined(batch, {a.shape[ra - 2], b.shape[rb - 1]}), [&](const Dims& i) {
    const Dims at = part(i, 0, batch.size());
    const int64_t r = i[batch.size()], c = i[batch.size() + 1];
    return sum_over({inner},
                    [&](const Dims& k) { return matrix(a, at, r, k[0]) * matrix(b, at, k[0], c); });
  });
  Array out{batch, y.v};
  if (!row) out.shape.push_back(a.shape[ra - 2]);
  if (!column) out.shape.push_back(b.shape[rb - 1]);
  return out;
}

/// x · wᵀ + b
inline Array linear(const Arrays& x) {
  const int last = x[0].shape.size() - 1;
  return build(with(x[0].shape, last, x[1].shape[0]), [&](const Dims& i) {
    const double bias = x.size() > 2 ? x[2]({i[last]}) : 0;
    return bias + sum_over({x[1].shape[1]}, [&](const Dims& k) {
             return x[0](with(i, last, k[0])) * x[1]({i[last], k[0]});
           });
  });
}

struct Window {  // of a convolution or a pool
  std::array<int64_t, 2> kernel = {1, 1}, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
  bool ceil_mode = false;

  int64_t places(int d, int64_t size) const {
    const auto i = static_cast<size_t>(d);
    const int64_t room = size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    int64_t n = room / stride[i] + 1;
    if (ceil_mode && room % stride[i] != 0 && n * stride[i] < size + padding[i]) ++n;
    return n;
  }
  /// Which row or column of the image kernel element `a` of place `i` lies on.
  int64_t at(int d, int64_t i, int64_t a) const {
    const auto s = static_cast<size_t>(d);
    return i * stride[s] - padding[s] + a * dilation[s];
  }
};

inline OpReference conv2d(Window p = {}) {
  return [p](const Arrays& in) {
    const Array &x = in[0], &w = in[1];
    Window q = p;
    q.kernel = {w.shape[2], w.shape[3]};
    const int64_t outs = w.shape[0] / q.groups, ins = w.shape[1];
    const Dims shape{x.shape[0], w.shape[0], q.places(0, x.shape[2]), q.places(1, x.shape[3])};
    return build(shape, [&](const Dims& i) {
      const double bias = in.size() > 2 ? in[2]({i[1]}) : 0;
      return bias + sum_over({ins, q.kernel[0], q.kernel[1]}, [&](const Dims& k) {
               const int64_t r = q.at(0, i[2], k[1]), c = q.at(1, i[3], k[2]);
               if (r < 0 || c < 0 || r >= x.shape[2] || c >= x.shape[3]) return 0.0;
               return x({i[0], i[1] / outs * ins + k[0], r, c}) * w({i[1], k[0], k[1], k[2]});
             });
    });
  };
}

/// The numbers of each window (padding left out) and how many there are with padding.
template <class F>
Array pooled(const Array& x, const Window& p, F&& f) {
  const Dims shape{x.shape[0], x.shape[1], p.places(0, x.shape[2]), p.places(1, x.shape[3])};
  return build(shape, [&](const Dims& i) {
    std::vector<double> inside;
    double with_padding = 0;
    for (int64_t a = 0; a < p.kernel[0]; ++a)
      for (int64_t b = 0; b < p.kernel[1]; ++b) {
        const int64_t r = p.at(0, i[2], a), c = p.at(1, i[3], b);
        if (r < x.shape[2] + p.padding[0] && c < x.shape[3] + p.padding[1]) ++with_padding;
        if (r < 0 || c < 0 || r >= x.shape[2] || c >= x.shape[3]) continue;
        inside.push_back(x({i[0], i[1], r, c}));
      }
    return f(inside, with_padding);
  });
}
inline OpReference max_pool2d(Window p) {
  return [p](const Arrays& x) {
    return pooled(x[0], p, [](const std::vector<double>& v, double) { return largest(v); });
  };
}
/// `divisor`: 0 counts the padding, -1 leaves it out, others stand for themselves.
inline OpReference avg_pool2d(Window p, double divisor = 0) {
  return [=](const Arrays& x) {
    return pooled(x[0], p, [&](const std::vector<double>& v, double with_padding) {
      const double n = divisor > 0   ? divisor
                       : divisor < 0 ? static_cast<double>(v.size())
                                     : with_padding;
      return total(v) / n;
    });
  };
}

/// Over the last `width` dimensions, with weight and bias if they are given.
inline OpReference layer_norm(int width, double eps = 1e-5) {
  return [=](const Arrays& in) {
    const Array& x = in[0];
    Dims dims;
    for (int d = x.shape.size() - width; d < x.shape.size(); ++d) dims.push_back(d);
    const Array mean = fold(x, dims, true, average);
    Array square = x;
    const Array far = build(x.shape, [&](const Dims& i) { return x(i) - stretched(mean, i); });
    for (size_t i = 0; i < far.v.size(); ++i) square.v[i] = far.v[i] * far.v[i];
    const Array variance = fold(square, dims, true, average);
    return build(x.shape, [&](const Dims& i) {
      const double y = far(i) / std::sqrt(stretched(variance, i) + eps);
      return y * (in.size() > 1 ? stretched(in[1], i) : 1) +
             (in.size() > 2 ? stretched(in[2], i) : 0);
    });
  };
}

enum class Over : uint8_t { none, mean, sum };
inline Array over(const Array& x, Over what, double count) {
  if (what == Over::none) return x;
  return Array{{}, {total(x.v) / (what == Over::sum ? 1 : count == 0 ? 1 : count)}};
}
/// logits [N, C, ..], targets [N, ..], weights [C] if they are given.
inline OpReference cross_entropy(Over what, int64_t ignored = -100, double smoothing = 0) {
  return [=](const Arrays& in) {
    const Array &x = in[0], &target = in[1];
    const int dim = x.shape.size() == 1 ? 0 : 1;
    const Array log_p = log_softmax(x, dim);
    const int64_t classes = x.shape[dim];
    double counted = 0;
    const auto weight = [&](int64_t c) { return in.size() > 2 ? in[2]({c}) : 1.0; };
    const Array loss = build(target.shape, [&](const Dims& i) {
      const auto t = static_cast<int64_t>(target(i));
      if (t == ignored) return 0.0;
      counted += weight(t);
      const auto of = [&](int64_t c) {
        Dims at = i;
        at.insert(dim, c);
        return weight(c) * log_p(at);
      };
      return -(1 - smoothing) * of(t) -
             smoothing / static_cast<double>(classes) *
                 sum_over({classes}, [&](const Dims& c) { return of(c[0]); });
    });
    return over(loss, what, counted);
  };
}
inline OpReference pair_loss(double (*f)(double), Over what) {
  return [=](const Arrays& in) {
    const Array each = build(in[0].shape, [&](const Dims& i) { return f(in[0](i) - in[1](i)); });
    return over(each, what, static_cast<double>(each.v.size()));
  };
}

/// y[.., j, ..] = x[.., index[j], ..]
inline OpReference index_select(int dim) {
  return [dim](const Arrays& in) {
    return build(with(in[0].shape, dim, in[1].shape[0]), [&](const Dims& i) {
      return in[0](with(i, dim, static_cast<int64_t>(in[1]({i[dim]}))));
    });
  };
}
inline OpReference gather(int dim) {
  return [dim](const Arrays& in) {
    return build(in[1].shape, [&](const Dims& i) {
      return in[0](with(i, dim, static_cast<int64_t>(in[1](i))));
    });
  };
}
inline Array embedding(const Arrays& in) {
  const int rank = in[1].shape.size();
  return build(joined(in[1].shape, {in[0].shape[1]}), [&](const Dims& i) {
    return in[0]({static_cast<int64_t>(in[1](part(i, 0, rank))), i[rank]});
  });
}
/// x, index (a vector, or shaped like src), src
inline OpReference scatter_add(int dim) {
  return [dim](const Arrays& in) {
    const bool vector = in[1].shape.size() == 1 && in[2].shape.size() != 1;
    return build(in[0].shape, [&](const Dims& i) {
      const Dims& size = vector ? in[2].shape : in[1].shape;
      double y = in[0](i);
      for (int64_t j = 0; j < size[dim]; ++j) {
        const Dims at = with(i, dim, j);
        bool inside = true;
        for (int d = 0; d < size.size(); ++d) inside = inside && at[d] < size[d];
        if (!inside) continue;
        const double to = vector ? in[1]({j}) : in[1](at);
        if (to == static_cast<double>(i[dim])) y += in[2](at);
      }
      return y;
    });
  };
}

inline OpReference cat(int dim) {
  return [dim](const Arrays& in) {
    int64_t size = 0;
    for (const Array& x : in) size += x.shape[dim];
    return build(with(in[0].shape, dim, size), [&](Dims i) {
      size_t k = 0;
      for (; i[dim] >= in[k].shape[dim]; ++k) i[dim] -= in[k].shape[dim];
      return in[k](i);
    });
  };
}
inline OpReference stack(int dim) {
  return [dim](const Arrays& in) {
    Dims shape = in[0].shape;
    shape.insert(dim, static_cast<int64_t>(in.size()));
    return build(shape,
                 [&](const Dims& i) { return in[static_cast<size_t>(i[dim])](without(i, dim)); });
  };
}

/// softmax(scale · q · kᵀ + mask) · v; a mask (boolean or added) is the fourth input.
struct Attention {
  bool causal = false;
  bool boolean_mask = false;
  double scale = 0;
};
inline OpReference attention(Attention p = {}) {
  return [p](const Arrays& in) {
    const Array &q = in[0], &k = in[1], &v = in[2];
    const int rank = q.shape.size();
    const int64_t keys = k.shape[rank - 2], width = q.shape[rank - 1];
    const double scale = p.scale != 0 ? p.scale : 1 / std::sqrt(static_cast<double>(width));
    return build(with(q.shape, rank - 1, v.shape[rank - 1]), [&](const Dims& i) {
      double sum = 0, y = 0;
      for (int64_t j = 0; j < keys; ++j) {
        const Dims at = with(i, rank - 2, j);
        double score = scale * sum_over({width}, [&](const Dims& e) {
                         return q(with(i, rank - 1, e[0])) * k(with(at, rank - 1, e[0]));
                       });
        if (p.causal && j > i[rank - 2]) continue;
        if (in.size() > 3) {
          const double m = stretched(in[3], with(i, rank - 1, j));
          if (p.boolean_mask && m == 0) continue;
          if (!p.boolean_mask) score += m;
        }
        sum += std::exp(score);
        y += std::exp(score) * v(at);
      }
      return sum == 0 ? 0 : y / sum;
    });
  };
}

}  // namespace accrue::testing::table
