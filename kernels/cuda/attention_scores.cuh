// The scores of attention, tile by tile: which of them are seen, and which weights are dropped.
// Now read: attention.cu.
#pragma once
#include <limits>

#include <accrue/kernels/attention.h>
#include <accrue/kernels/cuda/attention_tile.cuh>

namespace accrue::kernels::cuda {

/// Blocks of a grid, one for each tile: dealt to the multiprocessors as they become free.
inline constexpr long kMostTiles = 1L << 20;

/// Which scores a tile has: those of the queries and keys of a head from these on. kKeysAreRows:
/// its columns are the queries.
template <class C, bool kKeysAreRows>
struct Place {
  long head, first_query, first_key;

  __device__ long query(int i, int j) const {
    return first_query + (kKeysAreRows ? own_column<C>(j) : own_row<C>(i));
  }
  __device__ long key(int i, int j) const {
    return first_key + (kKeysAreRows ? own_row<C>(i) : own_column<C>(j));
  }
};

/// The inputs of attention and what becomes of a score.
template <class C, bool kAny>
struct Scores {
  using T = AttentionTile<C>;
  Matrices<C, kAny> q, k, v;
  Matrices<C, true> mask;
  long heads;
  C scale;
  bool is_causal, drops;
  uint64_t threshold;  // below it, 32 bits say that a weight is dropped
  C kept;              // what the others are multiplied with
  Philox bits;

  Scores(const ConstView& q_view, const ConstView& k_view, const ConstView& v_view,
         const ConstView& mask_view, const AttentionParams& p)
      : q(q_view),
        k(k_view),
        v(v_view),
        mask(mask_view),
        heads(1),
        scale(static_cast<C>(p.scale)),
        is_causal(p.is_causal),
        drops(p.dropout_p > 0),
        threshold(static_cast<uint64_t>(p.dropout_p * 0x1p32)),
        kept(p.dropout_p < 1 ? static_cast<C>(1 / (1 - p.dropout_p)) : C(0)),
        bits(p.bits) {
    for (int d = 0; d < q_view.shape.size() - 2; ++d) heads *= q_view.shape[d];
  }

  /// How many keys query i may see, the mask aside.
  __device__ long visible(long i) const { return is_causal && i + 1 < k.rows ? i + 1 : k.rows; }

  /// Puts the part of the mask that a tile needs where its weights will be. A barrier must follow.
  template <bool kKeysAreRows>
  __device__ __forceinline__ void stage_mask(Quad<C>* weights,
                                             const Place<C, kKeysAreRows>& at) const {
    if (!mask.data) return;
    const long mask_head = mask.heads(at.head);
#pragma unroll 1
    for (int t = static_cast<int>(threadIdx.x); t < T::kSize * T::kSize; t += kThreads) {
      const int i = t / T::kSize, j = t % T::kSize;
      const int row = kKeysAreRows ? j : i, column = kKeysAreRows ? i : j;
      reinterpret_cast<C*>(weights)[row * 4 * T::kWeightRow + column] =
          mask.at(mask_head, at.first_query + i, at.first_key + j);
    }
  }
  /// The score of own row i and column j, whose product of query and key is `dot` and whose mask
  /// lies in `weights`: -∞ where the query does not see the key.
  template <bool kKeysAreRows>
  __device__ C masked(C dot, Quad<C>* weights, const Place<C, kKeysAreRows>& at, int i,
                      int j) const {
    constexpr C kNever = -std::numeric_limits<C>::infinity();
    if (at.query(i, j) >= q.rows || at.key(i, j) >= visible(at.query(i, j))) return kNever;
    if (!mask.data) return dot;
    const C m = own_weight(weights, i, j);
    return mask.dtype != DType::boolean ? dot + m : m != C(0) ? dot : kNever;
  }

  /// Bit i · kOwn + j says whether the weight of own row i and column j is kept.
  template <bool kKeysAreRows>
  __device__ unsigned kept_weights(const Place<C, kKeysAreRows>& at) const {
    if (!drops) return ~0U;
    unsigned which = 0;
#pragma unroll 1
    for (int t = 0; t < T::kOwn * T::kOwn; ++t) {
      const int i = t / T::kOwn, j = t % T::kOwn;
      const long element = (at.head * q.rows + at.query(i, j)) * k.rows + at.key(i, j);
      which |= static_cast<unsigned>(bits.bits32(element) >= threshold) << t;
    }
    return which;
  }
  /// x / (1 - p), or 0 if it is dropped.
  __device__ C drop(C x, unsigned which, int i, int j) const {
    if (!drops) return x;
    return (which >> (i * T::kOwn + j) & 1U) != 0 ? x * kept : C(0);
  }
};

/// Calls f.template operator()<C, kAny>() for operands of these dtypes.
template <class F, class... Operands>
void visit_matrices(DType computed, F&& f, const Operands&... operands) {
  if (computed == DType::float64) return f.template operator()<double, true>();
  if (((operands.dtype == DType::float32) && ...)) return f.template operator()<float, false>();
  f.template operator()<float, true>();
}

}  // namespace accrue::kernels::cuda
