// The vector loops of row_math-inl.h, for every target of targets.h.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "row_math.cpp"
#include <hwy/foreach_target.h>

#include <accrue/kernels/cpu/row_math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
const RowMath<float>& row_math_float() { return row_math_here<float>(); }
const RowMath<double>& row_math_double() { return row_math_here<double>(); }
}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {
HWY_EXPORT(row_math_float);
HWY_EXPORT(row_math_double);

template <>
const RowMath<float>& row_math<float>() {
  return HWY_DYNAMIC_DISPATCH(row_math_float)();
}
template <>
const RowMath<double>& row_math<double>() {
  return HWY_DYNAMIC_DISPATCH(row_math_double)();
}

}  // namespace accrue::kernels::cpu
#endif
