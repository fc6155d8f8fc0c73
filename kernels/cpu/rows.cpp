#include <accrue/kernels/cpu/rows.h>

namespace accrue::kernels::cpu {

void Strided::push(int64_t n, int64_t step) {
  if (n == 1) return;
  if (rank > 0 && stride[rank - 1] == n * step) {
    size[rank - 1] *= n;
    stride[rank - 1] = step;
    return;
  }
  size[rank] = n;
  stride[rank] = step;
  ++rank;
}

int64_t Strided::offset(int64_t index) const {
  if (rank == 1) return index * stride[0];
  int64_t sum = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const int64_t above = index / size[d];
    sum += (index - above * size[d]) * stride[d];
    index = above;
  }
  return sum;
}

RowLayout::RowLayout(const Dims& shape, const Dims& strides, int first, int width) {
  for (int d = 0; d < shape.size(); ++d) {
    const bool in_row = d >= first && d < first + width;
    (in_row ? length : rows) *= shape[d];
    (in_row ? inner : outer).push(shape[d], strides[d]);
  }
}

}  // namespace accrue::kernels::cpu
