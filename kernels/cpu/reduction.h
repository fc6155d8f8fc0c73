// What the reductions share: the plan, and walking the reduced elements of one result in order.
#pragma once
#include <algorithm>

#include <accrue/kernels/cpu/convert.h>
#include <accrue/kernels/loop.h>

namespace accrue::kernels::cpu {

/// A Loop whose summed dimensions are one Nest, in row-major order.
struct Reduction {
  Nest kept, reduced;
};
Reduction plan_reduction(const char* op, const ConstView* const* inputs, int count, const View& y);

/// Calls f(offset, j, n) for the elements [begin, end) of the nest, in runs of at most `most` that
/// lie `nest`'s last stride apart: j is the index of a run's first element, `offset` the place of
/// it in every operand.
template <class F>
void each_run(const Nest& nest, const int64_t* start, int64_t begin, int64_t end, int64_t most,
              F f) {
  const int last = nest.rank - 1;
  const int64_t length = nest.rank > 0 ? nest.size[last] : 1;
  for (int64_t j = begin; j < end;) {
    const int64_t row = j / length;
    const int64_t col = j - row * length;
    const int64_t n = std::min({length - col, end - j, most});
    int64_t offset[Nest::kOperands];
    std::copy_n(start, Nest::kOperands, offset);
    nest.add_offset(row, last, offset);
    for (int o = 0; o < Nest::kOperands && nest.rank > 0; ++o)
      offset[o] += col * nest.stride[last][o];
    f(offset, j, n);
    j += n;
  }
}

/// One operand of a reduction: a run of it as numbers of type C, in place where it can be.
template <class C>
class Reader {
 public:
  static constexpr int64_t kMost = 1024;

  Reader(const ConstView& x, const Nest& reduced, int operand)
      : base_(static_cast<const char*>(x.data)),
        bytes_(static_cast<int64_t>(size_of(x.dtype))),
        stride_(reduced.rank > 0 ? reduced.stride[reduced.rank - 1][operand] : 0),
        in_place_(x.dtype == dtype_of<C>()),
        gather_(gather_of<C>(x.dtype)) {}

  bool in_place() const { return in_place_; }
  const void* at(int64_t offset) const { return base_ + offset * bytes_; }
  const C* read(int64_t offset, int64_t n, C* buffer) const {
    if (in_place_ && (stride_ == 1 || n == 1)) return static_cast<const C*>(at(offset));
    gather_(at(offset), {1, n, 0, stride_}, buffer);
    return buffer;
  }
  /// n elements side by side, across the run.
  const C* read_row(int64_t offset, int64_t n, C* buffer) const {
    if (in_place_) return static_cast<const C*>(at(offset));
    gather_(at(offset), {1, n, 0, 1}, buffer);
    return buffer;
  }
  C read_one(int64_t offset) const {
    C value;
    gather_(at(offset), {}, &value);
    return value;
  }

 private:
  const char* base_;
  int64_t bytes_;
  int64_t stride_;
  bool in_place_;
  Gather<C> gather_;
};

}  // namespace accrue::kernels::cpu
