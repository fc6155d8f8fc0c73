// The sum of a row's exponentials, for softmax and cross-entropy, in one pass over the row.
#pragma once
#include <limits>

#include <accrue/kernels/cuda/rows.cuh>
#include <accrue/kernels/split.h>

namespace accrue::kernels::cuda {

/// sum = Σ e^(x - shift()) over the row, in double.
template <class C>
struct ExpSum {
  C max;
  double sum;

  /// The largest x; 0 instead of an infinite one, for e^-∞ is 0 and e^∞ is ∞.
  __device__ C shift() const { return std::isinf(max) ? C(0) : max; }
  /// ln Σ eˣ
  __device__ double lse() const { return static_cast<double>(shift()) + std::log(sum); }

  /// The same sum relative to another maximum, which is no smaller.
  __device__ void move_to(C larger) {
    if (max == larger) return;
    sum *= std::exp(static_cast<double>(max) - static_cast<double>(larger));
    max = larger;
  }
  __device__ void add(C x) { sum += static_cast<double>(std::exp(x - shift())); }
};

/// Each thread sums what it meets, relative to the largest that it has met so far; then the team
/// agrees on the largest of all. A NaN is no maximum, but makes the sum a NaN.
template <class C, int N, class Row>
__device__ ExpSum<C> exp_sum(const Row& x, long n) {
  constexpr C least = -std::numeric_limits<C>::infinity();
  ExpSum<C> mine{least, 0};
  for_each_four(n, [&](long i) {
    C most = mine.max;
    if constexpr (N == 4) {
      const Pack<C, N> v = x.load(i, n, least);
#pragma unroll
      for (int j = 0; j < N; ++j) most = v[j] > most ? v[j] : most;
      mine.move_to(most);
#pragma unroll
      for (int j = 0; j < N; ++j) mine.add(v[j]);
    } else {
      for_each_part<N>(i, n, [&](long k) { most = x[k] > most ? x[k] : most; });
      mine.move_to(most);
      for_each_part<N>(i, n, [&](long k) { mine.add(x[k]); });
    }
  });
  mine.move_to(team_max(mine.max, least));
  mine.sum = team_sum(mine.sum);
  return mine;
}

/// e^(x - c)
template <class C>
__device__ C exp_minus(C x, const Split<C>& c) {
  return std::exp((x - c.high) - c.low);
}

}  // namespace accrue::kernels::cuda
