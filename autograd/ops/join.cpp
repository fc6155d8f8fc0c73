#include <limits>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/join.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// The dtype that holds all pieces. Throws if there are none, or on different devices.
DType common_dtype(const char* op, std::span<const Tensor> pieces) {
  check<ShapeError>(!pieces.empty(), op, ": the list of tensors is empty; give at least one");
  DType dtype{};
  for (size_t i = 0; i < pieces.size(); ++i) {
    ops::check_together(op, pieces[0], pieces[i]);
    dtype = i == 0 ? pieces[0].dtype() : promote(dtype, pieces[i].dtype());
  }
  return dtype;
}

// y = x₀, x₁, ... one after another along `dim`      dxᵢ = its part of dy
struct Cat {
  static constexpr const char* name = "cat";
  int64_t dim;
  std::vector<int64_t> lengths = {};  // of the pieces along `dim`

  Tensor forward(std::span<const Tensor> pieces) {
    const DType dtype = common_dtype(name, pieces);
    dim = normalize_dim(name, dim, pieces[0].dim());
    Tensor y = Tensor::empty(joined(pieces), dtype, pieces[0].device());
    int64_t at = 0;
    for (const Tensor& x : pieces) {
      kernels::copy(x, ops::part_of(into(y), [&](const Layout& all) { return part(all, at, x); }));
      at += length(x.shape());
    }
    return y;
  }
  void backward(const Tensor& dy, std::span<GradSink> dx) {
    int64_t at = 0;
    for (size_t i = 0; i < dx.size(); ++i) {
      if (dx[i]) dx[i].add(dy.alias(layout::narrow(dy.layout(), dim, at, lengths[i])));
      at += lengths[i];
    }
  }

  int64_t length(const Dims& shape) const { return shape[static_cast<int>(dim)]; }
  Layout part(const Layout& all, int64_t at, const Tensor& x) const {
    return layout::narrow(all, dim, at, length(x.shape()));
  }
  Dims joined(std::span<const Tensor> pieces) {
    const Dims& first = pieces[0].shape();
    Dims shape = first;
    int64_t& total = shape[static_cast<int>(dim)];
    total = 0;
    lengths.reserve(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      Dims other = pieces[i].shape();
      bool fits = other.size() == first.size();
      for (int d = 0; fits && d < first.size(); ++d) fits = d == dim || other[d] == first[d];
      check<ShapeError>(fits, name, ": the shapes differ outside dimension ", dim, ": tensor 0 is ",
                        first, ", tensor ", i, " is ", other, "; all other sizes must be equal");
      check<ShapeError>(length(other) <= std::numeric_limits<int64_t>::max() - total, name,
                        ": the sizes along dimension ", dim, " sum to more than 63 bits hold");
      lengths.push_back(length(other));
      total += length(other);
    }
    return shape;
  }
};

// y[i] = xᵢ along a new dimension      dxᵢ = dy[i]
struct Stack {
  static constexpr const char* name = "stack";
  int64_t dim;

  Tensor forward(std::span<const Tensor> pieces) {
    const DType dtype = common_dtype(name, pieces);
    const Dims& first = pieces[0].shape();
    for (size_t i = 1; i < pieces.size(); ++i)
      check<ShapeError>(pieces[i].shape() == first, name, ": the shapes differ: tensor 0 is ",
                        first, ", tensor ", i, " is ", pieces[i].shape(), "; all must be equal");
    const int d = normalize_dim(name, dim, first.size() + 1);
    dim = d;
    Dims shape = first;
    shape.insert(d, static_cast<int64_t>(pieces.size()));
    Tensor y = Tensor::empty(shape, dtype, pieces[0].device());
    for (size_t i = 0; i < pieces.size(); ++i)
      kernels::copy(pieces[i], ops::part_of(into(y), [&](const Layout& all) {
                      return layout::select(all, dim, static_cast<int64_t>(i));
                    }));
    return y;
  }
  void backward(const Tensor& dy, std::span<GradSink> dx) {
    for (size_t i = 0; i < dx.size(); ++i)
      if (dx[i]) dx[i].add(dy.alias(layout::select(dy.layout(), dim, static_cast<int64_t>(i))));
  }
};

std::span<const Tensor> span_of(std::initializer_list<Tensor> list) {
  return {list.begin(), list.size()};
}

}  // namespace

Tensor cat(std::span<const Tensor> pieces, int64_t dim) { return apply_list(Cat{dim}, pieces); }
Tensor cat(std::initializer_list<Tensor> pieces, int64_t dim) { return cat(span_of(pieces), dim); }
Tensor stack(std::span<const Tensor> pieces, int64_t dim) { return apply_list(Stack{dim}, pieces); }
Tensor stack(std::initializer_list<Tensor> pieces, int64_t dim) {
  return stack(span_of(pieces), dim);
}

}  // namespace accrue
