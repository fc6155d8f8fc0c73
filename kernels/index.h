// Kernels that read and add at places that another tensor names.
//
// gather and scatter_add are each other's backward. `index` may be repeated by strides of 0: that
// is index_select and index_add, where one index serves a whole row, and those rows are moved at
// once.
#pragma once
#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

namespace cpu {
void check_index(const char* op, const ConstView& index, int64_t bound);
void gather(const ConstView& x, int dim, const ConstView& index, const Dest& y);
void scatter_add(const ConstView& src, int dim, const ConstView& index, int64_t skip,
                 const Dest& y);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void check_index(const char* op, const ConstView& index, int64_t bound);
ACCRUE_OPTIONAL void gather(const ConstView& x, int dim, const ConstView& index, const Dest& y);
ACCRUE_OPTIONAL void scatter_add(const ConstView& src, int dim, const ConstView& index,
                                 int64_t skip, const Dest& y);
}  // namespace cuda

/// Throws IndexError, naming the index, its position and the bound, unless all are in [0, bound),
/// and DTypeError unless they are int64 or int32. The kernels below trust their indices.
inline void check_index(const char* op, const ConstView& index, int64_t bound) {
  dispatch("check_index", index.device, cpu::check_index, cuda::check_index, op, index, bound);
}
/// y[.., j, ..] = x[.., index[.., j, ..], ..], where j and the index stand at `dim`.
/// REQUIRES: y and index have one shape; x is at least as large in all dimensions but `dim`.
inline void gather(const ConstView& x, int dim, const ConstView& index, const Dest& y) {
  dispatch("gather", y.view.device, cpu::gather, cuda::gather, x, dim, index, y);
}
/// y[.., index[.., j, ..], ..] += src[.., j, ..], except where the index is `skip`; each element of
/// y in the order of j, from its old content, whatever the number of threads.
/// REQUIRES: y.write is add; src and y are at least as large as index, y in all dimensions but
/// `dim`.
inline void scatter_add(const ConstView& src, int dim, const ConstView& index, int64_t skip,
                        const Dest& y) {
  dispatch("scatter_add", y.view.device, cpu::scatter_add, cuda::scatter_add, src, dim, index, skip,
           y);
}
inline constexpr int64_t kSkipNone = -1;

}  // namespace accrue::kernels
