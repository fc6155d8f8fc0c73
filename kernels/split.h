// Split: a double as two numbers of a narrower type, so that what is subtracted from a row of
// floats is right to their last places also when it is large beside the result:
// x - c = (x - high) - low. Users: cpu/row_math.h and cuda/rows.cuh.
#pragma once
#include <cmath>

#include <accrue/core/macros.h>

namespace accrue::kernels {

/// c = high + low, to about twice the digits of C.
template <class C>
struct Split {
  C high, low;
  ACCRUE_HD explicit Split(double c) : high(static_cast<C>(c)), low(0) {
    const double rest = c - static_cast<double>(high);
    if (std::isfinite(rest)) low = static_cast<C>(rest);
  }
};

}  // namespace accrue::kernels
