// The vector loops of the ternary functions, for every target of targets.h.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "elementwise_ternary.cpp"
#include <hwy/foreach_target.h>

#include <accrue/kernels/cpu/blocks-inl.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
Block<float> ternary_float(Ternary f) { return pick<Ternary, float>(f); }
Block<double> ternary_double(Ternary f) { return pick<Ternary, double>(f); }
}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {
HWY_EXPORT(ternary_float);
HWY_EXPORT(ternary_double);

template <>
Block<float> block_of<float>(Ternary f) {
  return ACCRUE_TARGET_DISPATCH(ternary_float)(f);
}
template <>
Block<double> block_of<double>(Ternary f) {
  return ACCRUE_TARGET_DISPATCH(ternary_double)(f);
}

}  // namespace accrue::kernels::cpu
#endif
