#include <limits>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/rearrange.h>
#include <accrue/autograd/ops/shape.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// y = x in memory of its own      dx = dy
struct Clone {
  static constexpr const char* name = "clone";
  Tensor forward(const Tensor& x) {
    ops::check_defined(name, x);
    Tensor y = ops::result_of(x);
    kernels::copy(x, into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) { dx.add(dy); }
};

// y[(i + shift) mod n] = x[i]      dx[i] = dy[(i + shift) mod n]
struct Roll {
  static constexpr const char* name = "roll";
  int64_t shift;  // 0 <= shift < n
  int dim;
  Tensor forward(const Tensor& x) {
    Tensor y = ops::result_of(x);
    turn(x, shift, into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) turn(dy, dy.size(dim) - shift, into(dx));
  }
  // The front n - by elements of x go to the back of y, the other `by` to its front.
  void turn(const Tensor& x, int64_t by, const Dest& y) const {
    const int64_t front = x.size(dim) - by;
    move(x, 0, y, by, front);
    move(x, front, y, 0, by);
  }
  void move(const Tensor& x, int64_t from, const Dest& y, int64_t to, int64_t count) const {
    const Tensor part = x.alias(layout::narrow(x.layout(), dim, from, count));
    kernels::copy(part, ops::part_of(y, [&](const Layout& all) {
                    return layout::narrow(all, dim, to, count);
                  }));
  }
};

// y[i] = x[n - 1 - i]      dx[i] = dy[n - 1 - i]
struct Flip {
  static constexpr const char* name = "flip";
  Dims dims;  // counted from the front
  Tensor forward(const Tensor& x) {
    Tensor y = ops::result_of(x);
    kernels::copy(backwards(x), into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::copy(backwards(dy), into(dx));
  }
  ConstView backwards(const Tensor& x) const {
    ConstView v = x;
    if (x.numel() == 0) return v;
    int64_t first = 0;
    for (int64_t dim : dims) {
      const int d = static_cast<int>(dim);
      first += (v.shape[d] - 1) * v.strides[d];
      v.strides[d] = -v.strides[d];
    }
    v.data = static_cast<const char*>(v.data) + first * static_cast<int64_t>(size_of(v.dtype));
    return v;
  }
};

// The sizes before `dim`, and from it on, each multiplied to one.
std::pair<int64_t, int64_t> cut(const Dims& shape, int dim) {
  int64_t before = 1, after = 1;
  for (int d = 0; d < shape.size(); ++d) (d < dim ? before : after) *= shape[d];
  return {before, after};
}

}  // namespace

Tensor clone(const Tensor& x) { return apply(Clone{}, x); }

// One dimension after another, the last first: [before, after] becomes [before, times, after].
Tensor repeat(const Tensor& x, const Dims& times) {
  ops::check_defined("repeat", x);
  check<ShapeError>(times.size() >= x.dim(), "repeat: ", x.shape(), " ", times,
                    " times; give a number for each dimension");
  Dims shape = x.shape();
  while (shape.size() < times.size()) shape.insert(0, 1);
  Dims result = shape;
  for (int d = 0; d < times.size(); ++d) {
    check<ShapeError>(times[d] >= 0, "repeat: ", times, " times; a number must not be negative");
    check<ShapeError>(times[d] == 0 || shape[d] <= std::numeric_limits<int64_t>::max() / times[d],
                      "repeat: ", x.shape(), " ", times,
                      " times; the result is too large: its sizes must fit in 63 bits");
    result[d] *= times[d];
  }
  checked_numel("repeat", result, static_cast<int64_t>(size_of(x.dtype())));

  Tensor y = x;
  for (int d = times.size() - 1; d >= 0; --d) {
    if (times[d] == 1) continue;
    const auto [before, after] = cut(shape, d);
    shape[d] *= times[d];
    y = clone(expand(reshape(y, {before, 1, after}), {before, times[d], after}));
    y = reshape(y, shape);
  }
  if (y.shape() != result) y = reshape(y, result);
  return y.same_storage(x) ? clone(y) : y;
}

Tensor roll(const Tensor& x, int64_t shift, int64_t dim) {
  ops::check_defined("roll", x);
  const int d = normalize_dim("roll", dim, x.dim());
  const int64_t n = x.shape()[d];
  if (n == 0) return clone(x);
  return apply(Roll{(shift % n + n) % n, d}, x);
}

Tensor flip(const Tensor& x, const Dims& dims) {
  ops::check_defined("flip", x);
  Dims from_front;
  for (int64_t dim : dims) {
    const int64_t d = normalize_dim("flip", dim, x.dim());
    check<ShapeError>(std::find(from_front.begin(), from_front.end(), d) == from_front.end(),
                      "flip: dimension ", d, " comes twice in ", dims, "; name each at most once");
    from_front.push_back(d);
  }
  return apply(Flip{from_front}, x);
}

}  // namespace accrue
