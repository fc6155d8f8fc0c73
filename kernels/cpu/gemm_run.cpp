// Compiles the matrix product once per instruction set and picks one at run time.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm_run-inl.h"
#include <hwy/foreach_target.h>

#include <accrue/kernels/cpu/gemm_run-inl.h>

#if HWY_ONCE
namespace accrue::kernels::cpu {

HWY_EXPORT(run_f32);
HWY_EXPORT(run_f64);
HWY_EXPORT(run_bf16_f32);
HWY_EXPORT(run_bf16);
HWY_EXPORT(run_f16_f32);
HWY_EXPORT(run_f16);

void run_part(const Part<float, float>& p) { HWY_DYNAMIC_DISPATCH(run_f32)(p); }
void run_part(const Part<double, double>& p) { HWY_DYNAMIC_DISPATCH(run_f64)(p); }
void run_part(const Part<bfloat16, float>& p) { HWY_DYNAMIC_DISPATCH(run_bf16_f32)(p); }
void run_part(const Part<bfloat16, bfloat16>& p) { HWY_DYNAMIC_DISPATCH(run_bf16)(p); }
void run_part(const Part<float16, float>& p) { HWY_DYNAMIC_DISPATCH(run_f16_f32)(p); }
void run_part(const Part<float16, float16>& p) { HWY_DYNAMIC_DISPATCH(run_f16)(p); }

}  // namespace accrue::kernels::cpu
#endif
