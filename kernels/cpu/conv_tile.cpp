// Compiles the inner loops of the convolution once per instruction set and picks one at run time.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "conv_tile-inl.h"
#include <hwy/foreach_target.h>

#include <accrue/kernels/cpu/conv_tile-inl.h>

#if HWY_ONCE
namespace accrue::kernels::cpu {

HWY_EXPORT(shape_f32);
HWY_EXPORT(shape_f64);
HWY_EXPORT(sweep_f32);
HWY_EXPORT(sweep_f64);
HWY_EXPORT(weight_f32);
HWY_EXPORT(weight_f64);
HWY_EXPORT(transpose_f32);
HWY_EXPORT(transpose_f64);

template <>
ConvTileShape conv_tile_shape<float>() {
  return HWY_DYNAMIC_DISPATCH(shape_f32)();
}
template <>
ConvTileShape conv_tile_shape<double>() {
  return HWY_DYNAMIC_DISPATCH(shape_f64)();
}

void run_sweep(const ConvSweep<float>& sweep) { HWY_DYNAMIC_DISPATCH(sweep_f32)(sweep); }
void run_sweep(const ConvSweep<double>& sweep) { HWY_DYNAMIC_DISPATCH(sweep_f64)(sweep); }
void run_sweep(const ConvWeightSweep<float>& sweep) { HWY_DYNAMIC_DISPATCH(weight_f32)(sweep); }
void run_sweep(const ConvWeightSweep<double>& sweep) { HWY_DYNAMIC_DISPATCH(weight_f64)(sweep); }

void run_transpose(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                   int64_t to_row) {
  HWY_DYNAMIC_DISPATCH(transpose_f32)(from, from_row, rows, columns, to, to_row);
}
void run_transpose(const double* from, int64_t from_row, int64_t rows, int64_t columns, double* to,
                   int64_t to_row) {
  HWY_DYNAMIC_DISPATCH(transpose_f64)(from, from_row, rows, columns, to, to_row);
}

}  // namespace accrue::kernels::cpu
#endif
