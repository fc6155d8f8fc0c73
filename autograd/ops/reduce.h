// Reductions over all dimensions, or over those named: sum(x), sum(x, 1), sum(x, {0, 2},
// KeepDim::yes). Negative dimensions count from the back; an empty list means all.
//
// All throw ShapeError for a dimension that does not exist or comes twice. Those that have no value
// over nothing (all but sum) throw ShapeError if a reduced dimension has size 0.
#pragma once
#include <concepts>

#include <accrue/core/tensor.h>

namespace accrue {

/// Whether a reduced dimension stays, with size 1.
enum class KeepDim : uint8_t { no, yes };

/// y = Σ x; integers and bools are summed in int64.
Tensor sum(const Tensor& x, const Dims& dims = {}, KeepDim keep = KeepDim::no);
/// y = Σ x / n. Throws DTypeError for integers.
Tensor mean(const Tensor& x, const Dims& dims = {}, KeepDim keep = KeepDim::no);
/// The largest; NaN if there is one. Equal elements share the gradient evenly.
Tensor amax(const Tensor& x, const Dims& dims = {}, KeepDim keep = KeepDim::no);
/// The smallest; NaN if there is one. Equal elements share the gradient evenly.
Tensor amin(const Tensor& x, const Dims& dims = {}, KeepDim keep = KeepDim::no);

template <std::integral Dim>
Tensor sum(const Tensor& x, Dim dim, KeepDim keep = KeepDim::no) {
  return sum(x, Dims{static_cast<int64_t>(dim)}, keep);
}
template <std::integral Dim>
Tensor mean(const Tensor& x, Dim dim, KeepDim keep = KeepDim::no) {
  return mean(x, Dims{static_cast<int64_t>(dim)}, keep);
}
template <std::integral Dim>
Tensor amax(const Tensor& x, Dim dim, KeepDim keep = KeepDim::no) {
  return amax(x, Dims{static_cast<int64_t>(dim)}, keep);
}
template <std::integral Dim>
Tensor amin(const Tensor& x, Dim dim, KeepDim keep = KeepDim::no) {
  return amin(x, Dims{static_cast<int64_t>(dim)}, keep);
}

/// Where the largest element is: its row-major index among the reduced dimensions, the first of
/// equals; NaN is largest.
Tensor argmax(const Tensor& x);
Tensor argmax(const Tensor& x, int64_t dim, KeepDim keep = KeepDim::no);
Tensor argmax(const Tensor& x, const Dims& dims, KeepDim keep = KeepDim::no);
/// Where the smallest element is, the first of equals; NaN is smallest.
Tensor argmin(const Tensor& x);
Tensor argmin(const Tensor& x, int64_t dim, KeepDim keep = KeepDim::no);
Tensor argmin(const Tensor& x, const Dims& dims, KeepDim keep = KeepDim::no);

/// y[.., j, ..] = Σ x[.., i, ..] over i ≤ j along `dim`; integers and bools are summed in int64.
///   dx[.., i, ..] = Σ dy[.., j, ..] over j ≥ i
Tensor cumsum(const Tensor& x, int64_t dim);

/// amax(x) and amin(x) over all elements.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);

struct ValuesAndIndices {
  Tensor values, indices;
};
/// The largest along one dimension, and where it is. The whole gradient goes to that element.
ValuesAndIndices max(const Tensor& x, int64_t dim, KeepDim keep = KeepDim::no);
ValuesAndIndices min(const Tensor& x, int64_t dim, KeepDim keep = KeepDim::no);

}  // namespace accrue
