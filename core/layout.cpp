#include <accrue/core/layout.h>

namespace accrue::layout {

Layout contiguous(const Dims& shape) { return {shape, row_major(shape), 0}; }

bool is_contiguous(const Layout& x) {
  if (x.numel() == 0) return true;
  int64_t expected = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (x.shape[d] != 1 && x.strides[d] != expected) return false;
    expected *= x.shape[d];
  }
  return true;
}

bool has_overlap(const Layout& x) {
  // With dimensions sorted by stride, each must step over all that the smaller ones reach.
  Dims order;
  for (int d = 0; d < x.rank(); ++d) {
    if (x.shape[d] == 0) return false;
    if (x.shape[d] > 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return x.strides[static_cast<int>(a)] < x.strides[static_cast<int>(b)];
  });
  int64_t reach = 0;
  for (int64_t i : order) {
    const int d = static_cast<int>(i);
    if (x.strides[d] <= reach) return true;
    reach += x.strides[d] * (x.shape[d] - 1);
  }
  return false;
}

Layout permute(const Layout& x, const Dims& order) {
  check<ShapeError>(order.size() == x.rank(), "permute: ", order.size(), " dimensions are named, ",
                    order, ", for a tensor of shape ", x.shape, "; name each exactly once");
  Layout y{.offset = x.offset};
  unsigned seen = 0;
  for (int64_t dim : order) {
    const int d = normalize_dim("permute", dim, x.rank());
    check<ShapeError>(!(seen >> d & 1U), "permute: dimension ", d, " comes twice in ", order,
                      "; name each exactly once");
    seen |= 1U << d;
    y.shape.push_back(x.shape[d]);
    y.strides.push_back(x.strides[d]);
  }
  return y;
}

Layout transpose(const Layout& x, int64_t dim0, int64_t dim1) {
  const int a = normalize_dim("transpose", dim0, x.rank());
  const int b = normalize_dim("transpose", dim1, x.rank());
  Layout y = x;
  std::swap(y.shape[a], y.shape[b]);
  std::swap(y.strides[a], y.strides[b]);
  return y;
}

Layout slice(const Layout& x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  const int d = normalize_dim("slice", dim, x.rank());
  check<ShapeError>(step > 0, "slice: step ", step, "; it must be positive");
  const int64_t n = x.shape[d];
  const auto inside = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t first = inside(start);
  const int64_t length = std::max<int64_t>(inside(end) - first, 0);
  Layout y = x;
  y.offset += first * x.strides[d];
  y.shape[d] = length / step + (length % step != 0);
  // one element has no next: its stride stays, so that a huge step cannot wrap the product
  if (y.shape[d] > 1) y.strides[d] *= step;
  return y;
}

Layout narrow(const Layout& x, int64_t dim, int64_t start, int64_t length) {
  const int d = normalize_dim("narrow", dim, x.rank());
  const int64_t n = x.shape[d];
  if (start < 0) start += n;
  check<ShapeError>(start >= 0 && length >= 0 && start <= n && length <= n - start,
                    "narrow: ", length, " elements from ", start, " of dimension ", d, " of ",
                    x.shape, "; they must lie inside its ", n);
  Layout y = x;
  y.offset += start * x.strides[d];
  y.shape[d] = length;
  return y;
}

Layout select(const Layout& x, int64_t dim, int64_t index) {
  const int d = normalize_dim("select", dim, x.rank());
  const int64_t n = x.shape[d];
  check<IndexError>(index >= -n && index < n, "select: index ", index, " of dimension ", d, " of ",
                    x.shape, "; it must be in [", -n, ", ", n, ")");
  Layout y = x;
  y.offset += (index < 0 ? index + n : index) * x.strides[d];
  y.shape.erase(d);
  y.strides.erase(d);
  return y;
}

Layout expand(const Layout& x, const Dims& shape) {
  check<ShapeError>(shape.size() >= x.rank(), "expand: ", x.shape, " has more dimensions than ",
                    shape, "; an expanded shape has as many or more");
  const int added = shape.size() - x.rank();
  Layout y{.offset = x.offset};
  for (int d = 0; d < shape.size(); ++d) {
    const bool old = d >= added;
    const int64_t have = old ? x.shape[d - added] : 1;
    const int64_t want = shape[d] == -1 && old ? have : shape[d];
    check<ShapeError>(want >= 0, "expand: ", x.shape, " to ", shape, ": dimension ", d, " is ",
                      want, "; a size must be 0 or more, or -1 to keep one");
    check<ShapeError>(have == want || have == 1, "expand: ", x.shape, " to ", shape, ": dimension ",
                      d, " is ", have, "; only size 1 can be repeated");
    y.shape.push_back(want);
    y.strides.push_back(old && have == want ? x.strides[d - added] : 0);
  }
  checked_numel("expand", y.shape);
  return y;
}

Layout squeeze(const Layout& x, int64_t dim) {
  const int d = normalize_dim("squeeze", dim, x.rank());
  Layout y = x;
  if (x.shape[d] != 1) return y;
  y.shape.erase(d);
  y.strides.erase(d);
  return y;
}

Layout squeeze(const Layout& x) {
  Layout y{.offset = x.offset};
  for (int d = 0; d < x.rank(); ++d) {
    if (x.shape[d] == 1) continue;
    y.shape.push_back(x.shape[d]);
    y.strides.push_back(x.strides[d]);
  }
  return y;
}

Layout unsqueeze(const Layout& x, int64_t dim) {
  const int d = normalize_dim("unsqueeze", dim, x.rank() + 1);
  Layout y = x;
  y.shape.insert(d, 1);
  y.strides.insert(d, d < x.rank() ? x.shape[d] * x.strides[d] : 1);
  return y;
}

Dims infer_shape(const char* op, const Dims& from, const Dims& to) {
  Dims shape = to;
  int unknown = -1;
  for (int d = 0; d < to.size(); ++d) {
    if (to[d] != -1) continue;
    check<ShapeError>(unknown < 0, op, ": two sizes of ", to,
                      " are -1; at most one can be worked out");
    unknown = d;
    shape[d] = 1;
  }
  const int64_t have = numel(from);
  const int64_t known = checked_numel(op, shape);
  if (unknown >= 0) {
    check<ShapeError>(known > 0 && have % known == 0, op, ": ", from, " has ", have,
                      " elements, which ", to, " cannot hold; their number must be a multiple of ",
                      known);
    shape[unknown] = have / known;
  }
  check<ShapeError>(numel(shape) == have, op, ": ", from, " has ", have, " elements and ", to,
                    " has ", numel(shape), "; the numbers must be equal");
  return shape;
}

std::optional<Layout> try_reshape(const Layout& x, const Dims& shape) {
  Layout y{.shape = shape, .strides = row_major(shape), .offset = x.offset};
  if (x.numel() == 0) return y;
  // Walk both shapes from the right. A run of old dimensions that is dense in itself can be cut
  // into new ones; the run ends where the strides stop fitting together.
  int d = shape.size() - 1;
  int64_t run = 1;    // old elements in the run so far
  int64_t taken = 1;  // new elements cut from it so far
  int64_t step = 0;   // stride of the run's fastest dimension
  for (int i = x.rank() - 1; i >= 0; --i) {
    if (x.shape[i] == 1) continue;
    if (step == 0) step = x.strides[i];
    run *= x.shape[i];
    int next = i - 1;
    while (next >= 0 && x.shape[next] == 1) --next;
    if (next >= 0 && x.strides[next] == x.shape[i] * x.strides[i]) continue;
    for (; d >= 0 && (taken < run || shape[d] == 1); --d) {
      y.strides[d] = taken * step;
      taken *= shape[d];
    }
    if (taken != run) return std::nullopt;
    run = taken = 1;
    step = 0;
  }
  return y;
}

}  // namespace accrue::layout
