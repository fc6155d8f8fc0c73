// The vector loops of the unary functions, for every target of targets.h.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "elementwise_unary.cpp"
#include <hwy/foreach_target.h>

#include <accrue/kernels/cpu/blocks-inl.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
Block<float> unary_float(Unary f) { return pick<Unary, float>(f); }
Block<double> unary_double(Unary f) { return pick<Unary, double>(f); }
}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {
HWY_EXPORT(unary_float);
HWY_EXPORT(unary_double);

template <>
Block<float> block_of<float>(Unary f) {
  return ACCRUE_TARGET_DISPATCH(unary_float)(f);
}
template <>
Block<double> block_of<double>(Unary f) {
  return ACCRUE_TARGET_DISPATCH(unary_double)(f);
}

}  // namespace accrue::kernels::cpu
#endif
