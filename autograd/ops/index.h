// Rows and elements picked by an index tensor, and added at places that it names.
//
// An index is int64 or int32, at least 0 and below the size it goes into. All throw IndexError,
// naming the index, its position and the bound, DTypeError and ShapeError before anything is
// written. An index that comes several times has its gradients summed in the order of the index.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

/// y[.., j, ..] = x[.., index[j], ..]      index is a vector
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// y[.., j, ..] = x[.., index[.., j, ..], ..]      y has the shape of index, which is at most as
/// large as x in all dimensions but `dim`
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
/// y[i..] = weight[index[i..]]      weight is [rows, width], index of any shape. The row
/// padding_idx gets no gradient; -1 means no such row.
Tensor embedding(const Tensor& weight, const Tensor& index, int64_t padding_idx = -1);

/// y = x, then y[.., index[j], ..] += src[.., j, ..]      index is a vector
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
/// y = x, then y[.., index[.., j, ..], ..] += src[.., j, ..]      index is at most as large as src,
/// and as x in all dimensions but `dim`; what it leaves out of src is not used
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

}  // namespace accrue
