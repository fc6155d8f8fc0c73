// Views of a tensor, with the names that PyTorch gives them.
//
// A view shares the memory of x: it costs nothing, forward and, where it covers x, backward, for
// its gradient is the same view undone. Only reshape, flatten and contiguous copy, if they must;
// what makes new memory is in rearrange.h. Dimensions count from the front, negative ones from the
// back.
#pragma once
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include <accrue/core/tensor.h>

namespace accrue {

/// Two dimensions exchanged.
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
/// The transpose of a matrix; a vector or a number as it is. Throws ShapeError for more dimensions.
Tensor t(const Tensor& x);
/// y.shape[i] = x.shape[order[i]]
Tensor permute(const Tensor& x, const Dims& order);
/// The elements start, start + step, ... < end of one dimension, by Python's rules: negative bounds
/// count from the back, oversized ones stop at the end. Throws ShapeError unless step > 0.
Tensor slice(const Tensor& x, int64_t dim, int64_t start = 0,
             int64_t end = std::numeric_limits<int64_t>::max(), int64_t step = 1);
/// `length` elements from `start`. Throws ShapeError unless all lie inside.
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
/// One index of a dimension, which goes away. Throws IndexError.
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// Size-1 dimensions repeated without memory, and new ones in front; -1 keeps a size. The gradient
/// is summed over them. Throws ShapeError if another size would have to change.
Tensor expand(const Tensor& x, const Dims& shape);

/// The elements in row-major order under another shape; one size may be -1. A view if the strides
/// allow it, else a copy. Throws ShapeError if the counts differ.
Tensor reshape(const Tensor& x, const Dims& shape);
/// reshape() that never copies. Throws ShapeError if it would have to.
Tensor view(const Tensor& x, const Dims& shape);
/// The dimensions from `start` to `end`, both included, as one.
Tensor flatten(const Tensor& x, int64_t start = 0, int64_t end = -1);
/// Without the dimensions of size 1.
Tensor squeeze(const Tensor& x);
/// Without that dimension, if its size is 1.
Tensor squeeze(const Tensor& x, int64_t dim);
/// With a new dimension of size 1 before `dim`.
Tensor unsqueeze(const Tensor& x, int64_t dim);

/// x itself if it is dense in row-major order, else a dense copy.
Tensor contiguous(const Tensor& x);

/// Views of `size` elements each along `dim`; the last may be smaller.
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
/// Views of the given sizes. Throws ShapeError unless they sum to x.size(dim).
std::vector<Tensor> split(const Tensor& x, std::span<const int64_t> sizes, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, std::initializer_list<int64_t> sizes, int64_t dim = 0);
/// At most `count` views of equal size, the last perhaps smaller.
std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t dim = 0);
/// A view for each index of a dimension.
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);

}  // namespace accrue
