// The matrix product of the CPU: C = start + A·B for any element strides, so that transposes cost
// no copy, and for batches.
//
// The law: every element of C is one chain of fused multiply-adds in T (double for double, float
// for all others), from its start value through k = 0, 1, …, K-1. So its bits depend on its own row
// of A, column of B and start value alone: not on blocking, threads, layout, the other rows and
// columns, nor on how K is cut over successive calls with Start::old. (Where the processor has no
// fused multiply-add, multiply then add.) Now read: gemm_run-inl.h for how it is blocked.
#pragma once
#include <cstdint>

#include <accrue/core/half.h>

namespace accrue::kernels::cpu {

// What an element's chain starts from: +0, the old content of C, or bias[j] of its column.
enum class Start : uint8_t { zero, old, bias };

// A strided matrix: element (i, j) of batch t is data[t * batch + i * row + j * col]. A stride may
// be 0 in inputs, to repeat what is there.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t row = 0;
  int64_t col = 0;
  int64_t batch = 0;
};

// c[m, n] = start + a[m, k] · b[k, n], `batches` times. REQUIRES: sizes are not negative; c does
// not overlap a, b, bias or itself. A 16-bit c is rounded once, at the end of its chain.
template <class In, class Out>
struct Gemm {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Matrix<const In> a;
  Matrix<const In> b;
  Matrix<Out> c;
  Start start = Start::zero;
  const In* bias = nullptr;  // n values, the same for every batch; read for Start::bias only
  int64_t bias_stride = 1;
  int64_t batches = 1;
};

// Instantiated for (float, float), (double, double), and for bfloat16 and float16 with either
// themselves or float as Out.
template <class In, class Out>
void gemm(const Gemm<In, Out>& product);

}  // namespace accrue::kernels::cpu
