// What the row kernels do with one row of consecutive numbers, compiled for each instruction set.
//
// Sums are formed in double; a number that is subtracted from a row comes as a Split, see split.h.
// Implementation: row_math-inl.h.
#pragma once
#include <cstdint>

#include <accrue/kernels/split.h>

namespace accrue::kernels::cpu {

struct Moments {
  double mean, variance;  // variance: mean of (x - mean)²
};

/// y = (x - mean) · scale · w + b; w or b may be null.
template <class C>
struct Affine {
  Split<C> mean;
  C scale;
  const C* w;
  const C* b;
};

template <class C>
struct RowMath {
  double (*sum)(const C* x, int64_t n);
  double (*dot)(const C* a, const C* b, int64_t n);
  Moments (*moments)(const C* x, int64_t n);

  /// y = e^(x - max) / Σ e^(x - max)
  void (*softmax)(const C* x, C* y, int64_t n);
  /// dx = y · (dy - Σ dy · y)
  void (*softmax_grad)(const C* dy, const C* y, C* dx, int64_t n);
  /// y = x - logsumexp(x)
  void (*log_softmax)(const C* x, C* y, int64_t n);
  /// dx = dy - e^y · Σ dy
  void (*log_softmax_grad)(const C* dy, const C* y, C* dx, int64_t n);
  /// ln Σ e^x. `scratch` holds n numbers.
  double (*logsumexp)(const C* x, int64_t n, C* scratch);
  /// y = scale · e^(x - c)
  void (*exp_minus)(const C* x, Split<C> c, C scale, C* y, int64_t n);

  void (*normalize)(const C* x, const Affine<C>& a, C* y, int64_t n);
  /// dx = scale · (g - mean(g) - x̂ · mean(g · x̂)), g = dy · w, x̂ = (x - mean) · scale.
  /// `scratch` holds n numbers.
  void (*normalize_grad)(const C* dy, const C* x, const Affine<C>& a, C* dx, int64_t n, C* scratch);
  /// dw += dy · x̂, db += dy, either of which may be null
  void (*affine_grad)(const C* dy, const C* x, const Affine<C>& a, C* dw, C* db, int64_t n);
};

/// For C = float or double, on the best instruction set that runs here.
template <class C>
const RowMath<C>& row_math();

}  // namespace accrue::kernels::cpu
