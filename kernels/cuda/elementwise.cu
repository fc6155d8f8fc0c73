// Plans an elementwise call, as kernels/cpu/elementwise.cpp does, and chooses what it computes in.
#include <cmath>

#include <accrue/core/cuda/backend.h>
#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/elementwise.cuh>
#include <accrue/kernels/elementwise.h>

namespace accrue::kernels::cuda {
namespace {

/// float64 if an operand is, else float32 if one is floating, else int64.
DType computed_in(const ConstView* const* inputs, int count, DType y) {
  bool floating = is_floating(y), wide = y == float64;
  for (int i = 0; i < count; ++i) {
    floating = floating || is_floating(inputs[i]->dtype);
    wide = wide || inputs[i]->dtype == float64;
  }
  return wide ? float64 : floating ? float32 : int64;
}

/// The loops of kept, chain and inner as one nest whose output lies row-major.
Nest all_of(const Loop& loop) {
  Nest all;
  for (const Nest* nest : {&loop.kept, &loop.chain, &loop.inner})
    for (int d = 0; d < nest->rank; ++d) all.push(nest->size[d], nest->stride[d]);
  long stride = 1;
  for (int d = all.rank - 1; d >= 0; --d) {
    all.stride[d][kOut] = stride;
    stride *= all.size[d];
  }
  all.merge_neighbours();
  return all;
}

/// The same rounds over one input that lies row-major in them.
Loop over_values(Loop loop) {
  long stride = 1;
  for (Nest* nest : {&loop.inner, &loop.chain, &loop.kept})
    for (int d = nest->rank - 1; d >= 0; --d) {
      for (int o = 0; o < kOut; ++o) nest->stride[d][o] = 0;
      nest->stride[d][0] = stride;
      stride *= nest->size[d];
    }
  for (Nest* nest : {&loop.inner, &loop.chain}) {
    for (int d = 0; d < nest->rank; ++d) nest->stride[d][kOut] = 0;
    nest->merge_neighbours();
  }
  return loop;
}

template <class Op>
bool takes_integers(Op f) {
  return functor::visit(f, []<class F>(F) { return F::takes_integers; });
}
bool is_product(Unary f) { return f == Unary::identity; }
bool is_product(Binary f) { return f == Binary::mul; }
bool is_product(Ternary) { return false; }

template <class Op>
void run(Op f, const Params& p, const ConstView* const* inputs, int count, const Dest& y) {
  const Loop loop = plan_loop(name_of(f), inputs, count, y.view);
  const DType computed = computed_in(inputs, count, y.view.dtype);
  check<DTypeError>(computed != int64 || takes_integers(f), name_of(f), ": ", inputs[0]->dtype,
                    " is not a floating point type; cast it first");
  if (loop.kept.count() == 0) return;
  Operands x(y);
  for (int i = 0; i < count; ++i) x.add_input(inputs[i]->data, inputs[i]->dtype);
  if (!loop.sums()) return map(f, p, computed, x, loop.kept);
  if (is_product(f)) return sum_rounds(computed, x, loop);
  // What is neither a copy nor a product is computed first, then summed.
  const Nest all = all_of(loop);
  const Workspace values(static_cast<size_t>(all.count()) * size_of(computed), y.view.device);
  Operands sums(y);
  sums.add_input(values.data(), computed);
  x.data[kOut] = values.data();
  x.dtype[kOut] = computed;
  x.write = Write::overwrite;
  map(f, p, computed, x, all);
  sum_rounds(computed, sums, over_values(loop));
}

bool is_dense(const ConstView& x) { return Places(x.shape, x.strides).dense(); }
size_t bytes_of(const View& y) { return static_cast<size_t>(numel(y.shape)) * size_of(y.dtype); }

/// A copy of bytes, where nothing is converted, added or moved.
bool copy_bytes(const ConstView& x, const Dest& y) {
  const View& to = y.view;
  if (y.write == Write::add || x.dtype != to.dtype || x.shape != to.shape) return false;
  if (!is_dense(x) || !is_dense(to)) return false;
  if (x.data != to.data && bytes_of(to) > 0)
    accrue::cuda::copy(to.data, to.device, x.data, x.device, bytes_of(to), true);
  return true;
}

/// One thread for one element at a time.
template <class C>
__global__ void fill_kernel(Target<C> y, C value, long n) {
  for (long i = thread_number(); i < n; i += thread_count()) y.set(i, value);
}

template <class C>
void fill_with(C value, const Dest& y) {
  const long n = numel(y.view.shape);
  const Launcher on(y.view.device);
  on.check(
      LAUNCH((fill_kernel<C>), blocks_for(n), kThreads, 0, on.stream(), Target<C>(y), value, n),
      "fill");
}

}  // namespace

void fill(double value, const Dest& y) {
  const View& to = y.view;
  if (numel(to.shape) == 0) return;
  if (y.write == Write::overwrite && value == 0 && !std::signbit(value) && is_dense(to))
    return accrue::cuda::fill_bytes(to.data, to.device, 0, bytes_of(to));
  // The value in y's own dtype first, which is what is added.
  visit_any(to.dtype, [&]<class T>() {
    const T converted = convert<T>(value);
    if constexpr (std::is_same_v<T, double>) {
      fill_with(converted, y);
    } else if constexpr (std::is_integral_v<T>) {
      fill_with(static_cast<int64_t>(converted), y);
    } else {
      fill_with(static_cast<float>(converted), y);
    }
  });
}

void unary(Unary f, const Params& p, const ConstView& x, const Dest& y) {
  if (f == Unary::identity && copy_bytes(x, y)) return;
  const ConstView* const inputs[] = {&x};
  run(f, p, inputs, 1, y);
}

void binary(Binary f, const Params& p, const ConstView& a, const ConstView& b, const Dest& y) {
  const ConstView* const inputs[] = {&a, &b};
  run(f, p, inputs, 2, y);
}

void ternary(Ternary f, const Params& p, const ConstView& a, const ConstView& b, const ConstView& c,
             const Dest& y) {
  const ConstView* const inputs[] = {&a, &b, &c};
  run(f, p, inputs, 3, y);
}

}  // namespace accrue::kernels::cuda
