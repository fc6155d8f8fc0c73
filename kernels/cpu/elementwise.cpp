// Chooses how an elementwise kernel runs: one call of a block where everything lies densely in one
// floating type, which is what training does nearly always, else the engine of strided.h.
#include <algorithm>
#include <cstring>
#include <limits>

#include <accrue/kernels/cpu/blocks.h>
#include <accrue/kernels/cpu/convert.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/strided.h>
#include <accrue/kernels/elementwise.h>

namespace accrue::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;

bool is_dense(const Dims& shape, const Dims& strides) {
  int64_t expected = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

/// REQUIRES: y is dense.
bool is_like(const ConstView& x, const View& y) {
  return x.dtype == y.dtype && x.shape == y.shape &&
         (x.strides == y.strides || is_dense(x.shape, x.strides));
}

template <class C>
void run_dense(Block<C> block, const Params& p, const ConstView* const* inputs, int count,
               const Dest& y, int64_t n) {
  const auto run = [&](int64_t begin, int64_t end) {
    const C* in[3] = {};
    for (int i = 0; i < count; ++i) in[i] = static_cast<const C*>(inputs[i]->data) + begin;
    block(p, in, static_cast<C*>(y.view.data) + begin, end - begin, y.write);
  };
  if (n < 2 * kGrain) return run(0, n);
  parallel_for(n, kGrain, run);
}

template <class Op>
void run(Op op, const Params& p, const ConstView* const* inputs, int count, const Dest& y) {
  const DType dtype = y.view.dtype;
  if (dtype == float32 || dtype == float64) {
    bool dense = is_dense(y.view.shape, y.view.strides);
    for (int i = 0; i < count && dense; ++i) dense = is_like(*inputs[i], y.view);
    if (dense) {
      const int64_t n = numel(y.view.shape);
      if (n == 0) return;
      return dtype == float32 ? run_dense(block_of<float>(op), p, inputs, count, y, n)
                              : run_dense(block_of<double>(op), p, inputs, count, y, n);
    }
  }

  const Loop loop = plan_loop(name_of(op), inputs, count, y.view);
  bool floating = is_floating(dtype);
  bool wide = dtype == float64;
  for (int i = 0; i < count; ++i) {
    floating = floating || is_floating(inputs[i]->dtype);
    wide = wide || inputs[i]->dtype == float64;
  }
  if (wide) return run_strided(block_of<double>(op), p, loop, inputs, count, y);
  if (floating) return run_strided(block_of<float>(op), p, loop, inputs, count, y);
  const Block<int64_t> block = block_of<int64_t>(op);
  check<DTypeError>(block != nullptr, name_of(op), ": ", inputs[0]->dtype,
                    " is not a floating point type; cast it first");
  run_strided(block, p, loop, inputs, count, y);
}

bool copy_bytes(const ConstView& x, const Dest& y) {
  if (y.write == Write::add || !is_dense(y.view.shape, y.view.strides)) return false;
  if (!is_like(x, y.view)) return false;
  const auto bytes = numel(y.view.shape) * static_cast<int64_t>(size_of(y.view.dtype));
  const auto* from = static_cast<const char*>(x.data);
  auto* to = static_cast<char*>(y.view.data);
  if (bytes == 0 || from == to) return true;
  parallel_for(bytes, 4 * kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
  return true;
}

}  // namespace

void fill(double value, const Dest& y) {
  const View& v = y.view;
  // The value in y's own dtype, repeated: no conversion is left, and integers stay exact.
  visit_any(v.dtype, [&]<class T>() {
    T converted{};
    scatter_of<double>(v.dtype)(&value, {}, &converted, Write::overwrite);
    if (y.write == Write::overwrite && is_dense(v.shape, v.strides)) {
      parallel_for(numel(v.shape), 2 * kGrain, [&](int64_t begin, int64_t end) {
        std::fill(static_cast<T*>(v.data) + begin, static_cast<T*>(v.data) + end, converted);
      });
    } else {
      unary(Unary::identity, {}, {&converted, {}, {}, v.dtype, v.device}, y);
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

}  // namespace accrue::kernels::cpu
