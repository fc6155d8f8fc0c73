#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/index.h>

#include <accrue/autograd/ops/index.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// A vector of indices, each of which serves everything at its place along `dim`.
ConstView spread(const ConstView& index, const Dims& shape, int dim) {
  ConstView all = index;
  all.shape = shape;
  all.strides = Dims::filled(shape.size(), 0);
  all.strides[dim] = index.strides[0];
  return all;
}

// dx[.., index[.., j, ..], ..] += dy[.., j, ..]. Many terms may meet in one element: a 16-bit
// gradient would lose the late ones, so they are summed in float32 first.
void add_at(const Tensor& dy, int dim, const ConstView& index, int64_t skip, GradSink& dx) {
  if (!dx) return;
  if (!is_16bit_float(dx.dtype())) return kernels::scatter_add(dy, dim, index, skip, onto(dx));
  const Tensor sum = zeros(dx.shape(), DType::float32, dy.device());
  kernels::scatter_add(dy, dim, index, skip, adding_to(sum));
  dx.add(sum);
}

void check_vector(const char* op, const Tensor& index) {
  check<ShapeError>(index.dim() == 1, op, ": the index has shape ", index.shape(),
                    "; it must be a vector");
}

// An index of gather or scatter_add must lie inside the other tensor, except along `dim` where it
// says itself where it goes (`except` = dim; -1 for no exception).
void check_inside(const char* op, const Tensor& index, const char* which, const Tensor& x,
                  int except) {
  bool inside = index.dim() == x.dim();
  for (int d = 0; inside && d < x.dim(); ++d)
    inside = d == except || index.shape()[d] <= x.shape()[d];
  check<ShapeError>(inside, op, ": the index is ", index.shape(), ", ", which, " is ", x.shape(),
                    "; they need equally many dimensions, and no size of the index may be larger",
                    except < 0 ? "" : ", but that of the indexed dimension");
}

void check_same_dtype(const char* op, const Tensor& x, const Tensor& src) {
  check<DTypeError>(x.dtype() == src.dtype(), op, ": the tensor is ", x.dtype(), ", what is added ",
                    src.dtype(), "; the dtypes must be equal");
}

// x with src added at the index; 16-bit numbers are summed in float32 and rounded once.
Tensor with_added(const Tensor& x, int dim, const ConstView& index, const Tensor& src) {
  Tensor y = ops::result_of(x);
  if (!is_16bit_float(x.dtype())) {
    kernels::copy(x, into(y));
    kernels::scatter_add(src, dim, index, kernels::kSkipNone, adding_to(y));
    return y;
  }
  const Tensor sum = Tensor::empty(x.shape(), DType::float32, x.device());
  kernels::copy(x, into(sum));
  kernels::scatter_add(src, dim, index, kernels::kSkipNone, adding_to(sum));
  kernels::copy(sum, into(y));
  return y;
}

// y[.., j, ..] = x[.., index[j], ..]      dx[.., index[j], ..] += dy[.., j, ..]
struct IndexSelect {
  static constexpr const char* name = "index_select";
  int64_t dim;
  Saved index = {};

  Tensor forward(const Tensor& x, const Tensor& at) {
    ops::check_together(name, x, at);
    const int d = normalize_dim(name, dim, x.dim());
    check_vector(name, at);
    kernels::check_index(name, at, x.shape()[d]);
    Dims shape = x.shape();
    shape[d] = at.numel();
    Tensor y = Tensor::empty(shape, x.dtype(), x.device());
    kernels::gather(x, d, spread(at, shape, d), into(y));
    if (x.requires_grad()) index = at;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx, GradSink) {
    const int d = normalize_dim(name, dim, dy.dim());
    add_at(dy, d, spread(index, dy.shape(), d), kernels::kSkipNone, dx);
  }
};

// y[i..] = weight[index[i..]]      dweight[index[i..]] += dy[i..], except for the padding row
struct Embedding {
  static constexpr const char* name = "embedding";
  int64_t padding_idx;
  Saved index = {};

  Tensor forward(const Tensor& weight, const Tensor& at) {
    ops::check_together(name, weight, at);
    check<ShapeError>(weight.dim() == 2, name, ": the weight has shape ", weight.shape(),
                      "; it must be [rows, width]");
    const int64_t rows = weight.size(0), width = weight.size(1);
    check<IndexError>(padding_idx >= -1 && padding_idx < rows, name, ": padding_idx ", padding_idx,
                      "; it must be in [0, ", rows, "), or -1 for none");
    kernels::check_index(name, at, rows);
    Dims shape = at.shape();
    shape.push_back(width);
    Tensor y = Tensor::empty(shape, weight.dtype(), weight.device());
    const Tensor flat = ops::reshaped(at, {at.numel()});
    const Tensor lines = y.alias(layout::contiguous({at.numel(), width}));
    kernels::gather(weight, 0, spread(flat, lines.shape(), 0), into(lines));
    if (weight.requires_grad()) index = flat;
    return y;
  }
  void backward(const Tensor& dy, GradSink dweight, GradSink) {
    const Tensor lines = ops::reshaped(dy, {numel(index.shape()), dy.size(-1)});
    add_at(lines, 0, spread(index, lines.shape(), 0), padding_idx, dweight);
  }
};

// y[.., j, ..] = x[.., index[.., j, ..], ..]      dx[.., index[.., j, ..], ..] += dy[.., j, ..]
struct Gather {
  static constexpr const char* name = "gather";
  int64_t dim;
  Saved index = {};

  Tensor forward(const Tensor& x, const Tensor& at) {
    ops::check_together(name, x, at);
    const int d = normalize_dim(name, dim, x.dim());
    check_inside(name, at, "the tensor", x, d);
    kernels::check_index(name, at, x.shape()[d]);
    Tensor y = Tensor::empty(at.shape(), x.dtype(), x.device());
    kernels::gather(x, d, at, into(y));
    if (x.requires_grad()) index = at;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx, GradSink) {
    add_at(dy, normalize_dim(name, dim, dy.dim()), index, kernels::kSkipNone, dx);
  }
};

// y = x, y[.., index[j], ..] += src[.., j, ..]      dx = dy
//                                                   dsrc[.., j, ..] = dy[.., index[j], ..]
struct IndexAdd {
  static constexpr const char* name = "index_add";
  int64_t dim;
  Saved index = {};

  Tensor forward(const Tensor& x, const Tensor& at, const Tensor& src) {
    ops::check_together(name, x, at);
    ops::check_together(name, x, src);
    check_same_dtype(name, x, src);
    const int d = normalize_dim(name, dim, x.dim());
    check_vector(name, at);
    Dims shape = x.shape();
    shape[d] = at.numel();
    check<ShapeError>(src.shape() == shape, name, ": what is added has shape ", src.shape(),
                      "; for this index it must be ", shape);
    kernels::check_index(name, at, x.shape()[d]);
    Tensor y = with_added(x, d, spread(at, shape, d), src);
    if (src.requires_grad()) index = at;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx, GradSink, GradSink dsrc) {
    dx.add(dy);
    const int d = normalize_dim(name, dim, dy.dim());
    if (dsrc) kernels::gather(dy, d, spread(index, dsrc.shape(), d), into(dsrc));
  }
};

// y = x, y[.., index[.., j, ..], ..] += src[.., j, ..]      dx = dy
//                                            dsrc[.., j, ..] = dy[.., index[.., j, ..], ..]
struct ScatterAdd {
  static constexpr const char* name = "scatter_add";
  int64_t dim;
  Saved index = {};

  Tensor forward(const Tensor& x, const Tensor& at, const Tensor& src) {
    ops::check_together(name, x, at);
    ops::check_together(name, x, src);
    check_same_dtype(name, x, src);
    const int d = normalize_dim(name, dim, x.dim());
    check_inside(name, at, "the tensor", x, d);
    check_inside(name, at, "what is added", src, -1);
    kernels::check_index(name, at, x.shape()[d]);
    Tensor y = with_added(x, d, at, src);
    if (src.requires_grad()) index = at;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx, GradSink, GradSink dsrc) {
    dx.add(dy);
    if (!dsrc) return;
    const Dims& used = index.shape();
    const Dest all = used == dsrc.shape() ? into(dsrc) : onto(dsrc);
    const Dest part = ops::part_of(all, [&](Layout corner) {
      corner.shape = used;
      return corner;
    });
    kernels::gather(dy, normalize_dim(name, dim, dy.dim()), index, part);
  }
};

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  return apply(IndexSelect{dim}, x, index);
}
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  return apply(Gather{dim}, x, index);
}
Tensor embedding(const Tensor& weight, const Tensor& index, int64_t padding_idx) {
  return apply(Embedding{padding_idx}, weight, index);
}
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  return apply(IndexAdd{dim}, x, index, src);
}
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  return apply(ScatterAdd{dim}, x, index, src);
}

}  // namespace accrue
