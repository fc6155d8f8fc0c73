#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/rearrange.h>
#include <accrue/autograd/ops/shape.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// y = x with two dimensions exchanged      dx = dy with them exchanged again
struct Transpose {
  static constexpr const char* name = "transpose";
  int64_t dim0, dim1;
  Tensor forward(const Tensor& x) {
    ops::check_defined(name, x);
    return x.alias(layout::transpose(x.layout(), dim0, dim1));
  }
  void backward(const Tensor& dy, GradSink dx) {
    dx.add(dy.alias(layout::transpose(dy.layout(), dim0, dim1)));
  }
};

// y = x permuted      dx = dy permuted back
struct Permute {
  static constexpr const char* name = "permute";
  Dims order;
  Tensor forward(const Tensor& x) {
    ops::check_defined(name, x);
    return x.alias(layout::permute(x.layout(), order));
  }
  void backward(const Tensor& dy, GradSink dx) {
    Dims back = order;
    for (int i = 0; i < order.size(); ++i) back[normalize_dim(name, order[i], order.size())] = i;
    dx.add(dy.alias(layout::permute(dy.layout(), back)));
  }
};

// y = part of x      the same part of dx += dy, the rest of it gets nothing
struct Slice {
  static constexpr const char* name = "slice";
  int64_t dim, start, end, step;
  Layout part(const Layout& x) const { return layout::slice(x, dim, start, end, step); }
};
struct Narrow {
  static constexpr const char* name = "narrow";
  int64_t dim, start, length;
  Layout part(const Layout& x) const { return layout::narrow(x, dim, start, length); }
};
struct Select {
  static constexpr const char* name = "select";
  int64_t dim, index;
  Layout part(const Layout& x) const { return layout::select(x, dim, index); }
};
template <class Which>
struct Part : Which {
  Tensor forward(const Tensor& x) {
    ops::check_defined(Which::name, x);
    return x.alias(this->part(x.layout()));
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (!dx) return;
    const auto part = [this](const Layout& all) { return this->part(all); };
    kernels::copy(dy, ops::part_of(onto(dx), part));
  }
};

// y = x repeated      dx = dy summed over the repeated dimensions
struct Expand {
  static constexpr const char* name = "expand";
  Dims shape;
  Tensor forward(const Tensor& x) {
    ops::check_defined(name, x);
    return x.alias(layout::expand(x.layout(), shape));
  }
  void backward(const Tensor& dy, GradSink dx) { dx.add(dy); }
};

// y = the elements of x in another shape      dx = dy in the shape of x
enum class Form : uint8_t { reshape, view, flatten, squeeze, unsqueeze };
constexpr const char* kFormNames[] = {"reshape", "view", "flatten", "squeeze", "unsqueeze"};
template <Form form>
struct Reshape {
  static constexpr const char* name = kFormNames[static_cast<int>(form)];
  Dims shape;
  Tensor forward(const Tensor& x) { return ops::reshaped(x, shape); }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) dx.add(ops::reshaped(dy, dx.shape()));
  }
};

}  // namespace

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  return apply(Transpose{dim0, dim1}, x);
}
Tensor t(const Tensor& x) {
  ops::check_defined("t", x);
  check<ShapeError>(x.dim() <= 2, "t: the tensor is ", x.shape(),
                    "; t() transposes a matrix, use transpose(x, dim0, dim1) or permute(x, order)");
  return x.dim() < 2 ? x : transpose(x, 0, 1);
}
Tensor permute(const Tensor& x, const Dims& order) { return apply(Permute{order}, x); }
Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  return apply(Part<Slice>{{dim, start, end, step}}, x);
}
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return apply(Part<Narrow>{{dim, start, length}}, x);
}
Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  return apply(Part<Select>{{dim, index}}, x);
}
Tensor expand(const Tensor& x, const Dims& shape) { return apply(Expand{shape}, x); }

Tensor reshape(const Tensor& x, const Dims& shape) {
  ops::check_defined("reshape", x);
  return apply(Reshape<Form::reshape>{layout::infer_shape("reshape", x.shape(), shape)}, x);
}
Tensor view(const Tensor& x, const Dims& shape) {
  ops::check_defined("view", x);
  const Dims to = layout::infer_shape("view", x.shape(), shape);
  check<ShapeError>(layout::try_reshape(x.layout(), to).has_value(), "view: a tensor of shape ",
                    x.shape(), " and strides ", x.strides(), " cannot be seen as ", to,
                    " without a copy; use reshape");
  return apply(Reshape<Form::view>{to}, x);
}
Tensor flatten(const Tensor& x, int64_t start, int64_t end) {
  ops::check_defined("flatten", x);
  if (x.dim() == 0) return apply(Reshape<Form::flatten>{Dims{1}}, x);
  const int first = normalize_dim("flatten", start, x.dim());
  const int last = normalize_dim("flatten", end, x.dim());
  check<ShapeError>(first <= last, "flatten: dimension ", first, " comes after ", last, " in ",
                    x.shape(), "; start must not be behind end");
  Dims shape;
  for (int d = 0; d < x.dim(); ++d) {
    if (d <= first || d > last)
      shape.push_back(x.shape()[d]);
    else
      shape[first] *= x.shape()[d];
  }
  return apply(Reshape<Form::flatten>{shape}, x);
}
Tensor squeeze(const Tensor& x) {
  ops::check_defined("squeeze", x);
  return apply(Reshape<Form::squeeze>{layout::squeeze(x.layout()).shape}, x);
}
Tensor squeeze(const Tensor& x, int64_t dim) {
  ops::check_defined("squeeze", x);
  return apply(Reshape<Form::squeeze>{layout::squeeze(x.layout(), dim).shape}, x);
}
Tensor unsqueeze(const Tensor& x, int64_t dim) {
  ops::check_defined("unsqueeze", x);
  return apply(Reshape<Form::unsqueeze>{layout::unsqueeze(x.layout(), dim).shape}, x);
}

Tensor contiguous(const Tensor& x) {
  ops::check_defined("contiguous", x);
  return x.is_contiguous() ? x : clone(x);
}
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) {
  ops::check_defined("split", x);
  const int64_t n = x.shape()[normalize_dim("split", dim, x.dim())];
  check<ShapeError>(size > 0 || (size == 0 && n == 0), "split: pieces of ", size, " of dimension ",
                    dim, " of ", x.shape(), "; a piece needs at least one element");
  if (n == 0) return {narrow(x, dim, 0, 0)};
  std::vector<Tensor> pieces;
  for (int64_t at = 0; at < n; at += std::min(size, n - at))
    pieces.push_back(narrow(x, dim, at, std::min(size, n - at)));
  return pieces;
}

std::vector<Tensor> split(const Tensor& x, std::span<const int64_t> sizes, int64_t dim) {
  ops::check_defined("split", x);
  const int64_t n = x.shape()[normalize_dim("split", dim, x.dim())];
  int64_t left = n;
  for (int64_t size : sizes) {
    check<ShapeError>(size >= 0 && size <= left, "split: the sizes of the pieces exceed the ", n,
                      " elements of dimension ", dim, " of ", x.shape(), "; they must sum to it");
    left -= size;
  }
  check<ShapeError>(left == 0, "split: the sizes of the pieces leave ", left, " of the ", n,
                    " elements of dimension ", dim, " of ", x.shape(), "; they must sum to it");
  std::vector<Tensor> pieces;
  pieces.reserve(sizes.size());
  int64_t at = 0;
  for (int64_t size : sizes) {
    pieces.push_back(narrow(x, dim, at, size));
    at += size;
  }
  return pieces;
}
std::vector<Tensor> split(const Tensor& x, std::initializer_list<int64_t> sizes, int64_t dim) {
  return split(x, std::span<const int64_t>(sizes.begin(), sizes.size()), dim);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t dim) {
  ops::check_defined("chunk", x);
  check<ShapeError>(count > 0, "chunk: ", count, " pieces; there must be at least one");
  const int64_t n = x.shape()[normalize_dim("chunk", dim, x.dim())];
  return split(x, n / count + (n % count != 0), dim);
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  ops::check_defined("unbind", x);
  const int64_t n = x.shape()[normalize_dim("unbind", dim, x.dim())];
  std::vector<Tensor> pieces;
  pieces.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) pieces.push_back(select(x, dim, i));
  return pieces;
}

}  // namespace accrue
