// A part of a matrix product, as one thread computes it: what gemm.cpp hands to the code of the
// processor's instruction set. Now read: gemm_run-inl.h.
#pragma once
#include <cstdint>
#include <utility>

#include <accrue/core/half.h>

#include <accrue/kernels/cpu/gemm.h>

namespace accrue::kernels::cpu {

// Strides are named after the dimension they step through.
template <class In, class Out>
struct Part {
  int64_t m, n, k;
  const In* a;
  int64_t a_m, a_k;
  const In* b;
  int64_t b_k, b_n;
  Out* c;
  int64_t c_m, c_n;
  Start start;
  const In* bias;
  int64_t bias_m, bias_n;  // one of them is 0

  // The same product seen through Cᵀ = Bᵀ·Aᵀ.
  Part transposed() const {
    return {n, m, k, b, b_n, b_k, a, a_k, a_m, c, c_n, c_m, start, bias, bias_n, bias_m};
  }
  // Rows [i, i + rows) and columns [j, j + columns) of C.
  Part block(int64_t i, int64_t j, int64_t rows, int64_t columns) const {
    Part part = *this;
    part.m = rows, part.n = columns;
    part.a += i * a_m, part.b += j * b_n, part.c += i * c_m + j * c_n;
    if (start == Start::bias) part.bias += i * bias_m + j * bias_n;
    return part;
  }
};

// On the calling thread, with the best instructions of this processor.
void run_part(const Part<float, float>& part);
void run_part(const Part<double, double>& part);
void run_part(const Part<bfloat16, float>& part);
void run_part(const Part<bfloat16, bfloat16>& part);
void run_part(const Part<float16, float>& part);
void run_part(const Part<float16, float16>& part);

}  // namespace accrue::kernels::cpu
