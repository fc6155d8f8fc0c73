// The vector loops of the binary functions, for every target of targets.h.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "elementwise_binary.cpp"
#include <hwy/foreach_target.h>

#include <accrue/kernels/cpu/blocks-inl.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
Block<float> binary_float(Binary f) { return pick<Binary, float>(f); }
Block<double> binary_double(Binary f) { return pick<Binary, double>(f); }
}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {
HWY_EXPORT(binary_float);
HWY_EXPORT(binary_double);

template <>
Block<float> block_of<float>(Binary f) {
  return ACCRUE_TARGET_DISPATCH(binary_float)(f);
}
template <>
Block<double> block_of<double>(Binary f) {
  return ACCRUE_TARGET_DISPATCH(binary_double)(f);
}

}  // namespace accrue::kernels::cpu
#endif
