// The engine of the elementwise kernels, as its files see it. Entry points plan a Loop (loop.h) and
// choose the type to compute in; then
//
//   map()         y = f(...) where nothing is summed: elementwise_map.cuh, once for each arity in
//                 elementwise_unary.cu, _binary.cu and _ternary.cu
//   sum_rounds()  the sums over dimensions that y lacks: elementwise_sum.cu
//
// Now read: elementwise.cu, then elementwise_map.cuh.
#pragma once
#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/launch.cuh>
#include <accrue/kernels/cuda/nest.cuh>
#include <accrue/kernels/functors.h>

namespace accrue::kernels::cuda {

/// Up to three inputs, then the output; their strides are in a Nest.
struct Operands {
  void* data[Nest::kOperands] = {};
  DType dtype[Nest::kOperands] = {};
  int inputs = 0;
  Write write = Write::overwrite;
  Device device;

  Operands(const Dest& y) : write(y.write), device(y.view.device) {
    data[kOut] = y.view.data;
    dtype[kOut] = y.view.dtype;
  }
  void add_input(const void* its_data, DType its_dtype) {
    data[inputs] = const_cast<void*>(its_data);
    dtype[inputs++] = its_dtype;
  }
};

/// y = f(inputs), or y += f(inputs), in every round of `at`. Computes in `computed` = float32,
/// float64 or int64.
void map(Unary f, const Params& p, DType computed, const Operands& x, const Nest& at);
void map(Binary f, const Params& p, DType computed, const Operands& x, const Nest& at);
void map(Ternary f, const Params& p, DType computed, const Operands& x, const Nest& at);

/// y[k] = ((start + t(k, 0)) + t(k, 1)) + ..., as loop.h says. The terms are the products of one or
/// two inputs.
void sum_rounds(DType computed, const Operands& x, const Loop& loop);

}  // namespace accrue::kernels::cuda
