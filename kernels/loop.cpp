#include <algorithm>

#include <accrue/kernels/loop.h>

namespace accrue::kernels {
namespace {

// The output is written in the order in which it lies in memory.
void sort_by_output(Nest& nest) {
  const auto key = [&](int i) { return std::abs(nest.stride[i][Nest::kOperands - 1]); };
  for (int i = 1; i < nest.rank; ++i) {
    for (int j = i; j > 0 && key(j - 1) < key(j); --j) {
      std::swap(nest.size[j - 1], nest.size[j]);
      std::swap(nest.stride[j - 1], nest.stride[j]);
    }
  }
}

}  // namespace

void Nest::push(int64_t its_size, const int64_t* its_stride) {
  if (its_size == 1) return;
  size[rank] = its_size;
  std::copy_n(its_stride, kOperands, stride[rank]);
  ++rank;
}

void Nest::merge_neighbours() {
  int last = 0;
  for (int i = 1; i < rank; ++i) {
    bool same = true;
    for (int o = 0; o < kOperands; ++o) same = same && stride[last][o] == stride[i][o] * size[i];
    if (same) {
      size[last] *= size[i];
    } else {
      size[++last] = size[i];
    }
    std::copy_n(stride[i], kOperands, stride[last]);
  }
  if (rank > 0) rank = last + 1;
}

Nest Loop::summed() const {
  Nest nest = chain;
  for (int i = 0; i < inner.rank; ++i) nest.push(inner.size[i], inner.stride[i]);
  nest.merge_neighbours();
  return nest;
}

Loop plan_loop(const char* op, const ConstView* const* inputs, int count, const View& y) {
  Dims shape = inputs[0]->shape;
  for (int i = 1; i < count; ++i) {
    if (inputs[i]->shape != shape) shape = broadcast(op, shape, inputs[i]->shape);
  }
  if (y.shape != shape) shape = broadcast(op, shape, y.shape);

  const int rank = shape.size();
  const int y_lacks = rank - y.shape.size();
  const auto kept = [&](int d) { return d >= y_lacks && y.shape[d - y_lacks] != 1; };
  int after_kept = rank;  // dimensions from here on are all summed
  while (after_kept > 0 && !kept(after_kept - 1)) --after_kept;
  int first_summed = 0;
  while (first_summed < rank && kept(first_summed)) ++first_summed;

  Loop loop;
  for (int d = 0; d < rank; ++d) {
    int64_t stride[Nest::kOperands] = {};
    const auto set = [&](int operand, const Dims& its_shape, const Dims& its_strides) {
      const int at = d - (rank - its_shape.size());
      if (at >= 0 && its_shape[at] != 1) stride[operand] = its_strides[at];
    };
    for (int i = 0; i < count; ++i) set(i, inputs[i]->shape, inputs[i]->strides);
    set(Nest::kOperands - 1, y.shape, y.strides);
    Nest& nest = kept(d)                               ? loop.kept
                 : d == first_summed || d < after_kept ? loop.chain
                                                       : loop.inner;
    nest.push(shape[d], stride);
  }
  sort_by_output(loop.kept);
  loop.kept.merge_neighbours();
  loop.chain.merge_neighbours();
  loop.inner.merge_neighbours();
  return loop;
}

}  // namespace accrue::kernels
