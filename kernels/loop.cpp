#include <algorithm>

#include <accrue/kernels/loop.h>

namespace accrue::kernels {
namespace {

void push(Nest& nest, int64_t size, const int64_t* stride) {
  if (size == 1) return;
  nest.size[nest.rank] = size;
  std::copy_n(stride, Nest::kOperands, nest.stride[nest.rank]);
  ++nest.rank;
}

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

void merge_neighbours(Nest& nest) {
  int last = 0;
  for (int i = 1; i < nest.rank; ++i) {
    bool same = true;
    for (int o = 0; o < Nest::kOperands; ++o) {
      same = same && nest.stride[last][o] == nest.stride[i][o] * nest.size[i];
    }
    if (same) {
      nest.size[last] *= nest.size[i];
    } else {
      nest.size[++last] = nest.size[i];
    }
    std::copy_n(nest.stride[i], Nest::kOperands, nest.stride[last]);
  }
  if (nest.rank > 0) nest.rank = last + 1;
}

}  // namespace

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
    push(nest, shape[d], stride);
  }
  sort_by_output(loop.kept);
  merge_neighbours(loop.kept);
  merge_neighbours(loop.chain);
  merge_neighbours(loop.inner);
  return loop;
}

}  // namespace accrue::kernels
