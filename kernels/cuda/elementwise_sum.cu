// The backward of broadcasting: sums over dimensions that the output lacks, in the order of loop.h.
//
//   y[k] = ((start + t(k,0)) + t(k,1)) + ...   over the chain, in the type computed in
//   t(k,c) = the sum over `inner`, in double
//
// which are two launches at most: all t(k,c) at once, then all chains. Where a chain is long and
// split_invariant() is off, it is cut into pieces, which start from nothing; a third launch chains
// their sums. How it is cut follows from the sizes alone.
//
// Now read: loop.h for the order, walk_columns_kernel for the commonest case, a bias gradient.
#include <algorithm>

#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/elementwise.cuh>
#include <accrue/kernels/split_invariant.h>

namespace accrue::kernels::cuda {
namespace {

/// The terms of a sum: elements of one input, or products of two.
template <class C>
struct Terms {
  using Number = C;
  const void* data[2];
  DType dtype[2];
  bool product;

  explicit Terms(const Operands& x)
      : data{x.data[0], x.data[1]}, dtype{x.dtype[0], x.dtype[1]}, product(x.inputs == 2) {}
  __device__ C operator()(long at_0, long at_1) const {
    const C a = load_as<C>(data[0], dtype[0], at_0);
    return product ? times(a, load_as<C>(data[1], dtype[1], at_1)) : a;
  }
};

template <class T>
struct DenseTerms {
  using Number = T;
  const T* data[2];
  bool product;

  explicit DenseTerms(const Operands& x)
      : data{static_cast<const T*>(x.data[0]), static_cast<const T*>(x.data[1])},
        product(x.inputs == 2) {}
  __device__ T operator()(long at_0, long at_1) const {
    const T a = data[0][at_0];
    return product ? times(a, data[1][at_1]) : a;
  }
};

/// Where finished sums go: to y, or one after another into an array of C.
template <class C>
struct Sums {
  void* data;
  DType dtype;
  Write write;
  bool strided;

  explicit Sums(const Operands& x)
      : data(x.data[kOut]), dtype(x.dtype[kOut]), write(x.write), strided(true) {}
  explicit Sums(C* array)
      : data(array), dtype(dtype_of<C>()), write(Write::overwrite), strided(false) {}
  /// `offset`: of y's element, `i`: of the array's.
  __device__ C start(long offset) const {
    return write == Write::add ? load_as<C>(data, dtype, offset) : C(0);
  }
  __device__ void finish(long offset, long i, C sum) const {
    put_as(data, dtype, strided ? offset : i, sum, Write::overwrite);
  }
};

/// The pieces of the chains: piece p of chain k is sum number p * chains + k.
struct Pieces {
  long chains, steps, length;

  long count() const { return length > 0 ? (steps + length - 1) / length : 1; }
  __device__ long begin(long i) const { return i / chains * length; }
  __device__ long end(long i) const {
    const long last = begin(i) + length;
    return last < steps ? last : steps;
  }
};

/// One thread walks one piece of a chain; its neighbours walk the chains beside it.
template <class T, class C>
__global__ void walk_columns_kernel(T term, Nest kept, Nest chain, Pieces pieces, long n,
                                    Sums<C> sums) {
  for (long i = thread_number(); i < n; i += thread_count()) {
    long at[Nest::kOperands] = {};
    advance(kept, i % pieces.chains, kept.rank, at);
    C sum = sums.start(at[kOut]);
    const long end = pieces.end(i);
    if (chain.rank == 1) {
      const long stride_0 = chain.stride[0][0], stride_1 = chain.stride[0][1];
#pragma unroll 8
      for (long step = pieces.begin(i); step < end; ++step)
        sum = plus(sum, term(at[0] + step * stride_0, at[1] + step * stride_1));
    } else {
      for (long step = pieces.begin(i); step < end; ++step) {
        long there[Nest::kOperands] = {at[0], at[1]};
        advance(chain, step, chain.rank, there);
        sum = plus(sum, term(there[0], there[1]));
      }
    }
    sums.finish(at[kOut], i, sum);
  }
}

/// One warp walks one piece of a chain: its lanes fetch 32 terms side by side, which are then added
/// one after another.
template <class T, class C>
__global__ void walk_rows_kernel(T term, Nest kept, Nest chain, Pieces pieces, long n,
                                 Sums<C> sums) {
  const int lane = threadIdx.x & 31;
  for (long i = thread_number() / 32; i < n; i += thread_count() / 32) {
    long at[Nest::kOperands] = {};
    advance(kept, i % pieces.chains, kept.rank, at);
    C sum = lane == 0 ? sums.start(at[kOut]) : C(0);
    const long end = pieces.end(i);
    for (long first = pieces.begin(i); first < end; first += 32) {
      C mine = 0;
      if (first + lane < end) {
        long there[Nest::kOperands] = {at[0], at[1]};
        advance(chain, first + lane, chain.rank, there);
        mine = term(there[0], there[1]);
      }
#pragma unroll
      for (int j = 0; j < 32; ++j) {
        const C next = __shfl_sync(kFullMask, mine, j);
        if (first + j < end) sum = plus(sum, next);
      }
    }
    if (lane == 0) sums.finish(at[kOut], i, sum);
  }
}

/// What the terms of one step are summed in.
template <class C>
using SumOf = std::conditional_t<std::is_integral_v<C>, int64_t, double>;

/// Sixteen lanes form one t(k, c), sum number k * steps + c: a term goes to the lane of its
/// position modulo 16, then neighbours are added, as on the CPU.
template <class T, class C>
__global__ void inner_kernel(T term, Nest kept, Nest chain, Nest inner, long steps, long terms,
                             long n, Restrict<C> sums) {
  const int lane = threadIdx.x & 15;
  for (long i = thread_number() / 16; i < (n + 1) / 2 * 2; i += thread_count() / 16) {
    SumOf<C> sum = 0;
    if (i < n) {
      long at[Nest::kOperands] = {};
      advance(kept, i / steps, kept.rank, at);
      advance(chain, i % steps, chain.rank, at);
      for (long j = lane; j < terms; j += 16) {
        long there[Nest::kOperands] = {at[0], at[1]};
        advance(inner, j, inner.rank, there);
        sum = plus(sum, static_cast<SumOf<C>>(term(there[0], there[1])));
      }
    }
#pragma unroll
    for (int bits = 1; bits < 16; bits *= 2) sum = plus(sum, __shfl_xor_sync(kFullMask, sum, bits));
    if (lane == 0 && i < n) sums[i] = static_cast<C>(sum);
  }
}

/// Whether the terms of a chain lie closer together than the chains.
bool lie_in_rows(const Operands& x, const Loop& loop) {
  const Nest &kept = loop.kept, &chain = loop.chain;
  if (kept.rank == 0) return true;
  if (chain.rank == 0) return false;
  for (int o = 0; o < x.inputs; ++o) {
    const long along = std::abs(chain.stride[chain.rank - 1][o]);
    if (along != 0 && along < std::abs(kept.stride[kept.rank - 1][o])) return true;
  }
  return false;
}

/// Steps of a piece, so that all pieces together keep a device busy: all of them where the sum must
/// be one chain.
long piece_length(long chains, long steps, bool in_rows) {
  const long shortest = in_rows ? 512 : 64;
  const long wanted = in_rows ? 4096 : 65536;
  const long most = 1024;  // as somebody walks the pieces' sums
  const long count = std::min({steps / shortest, (wanted + chains - 1) / chains, most});
  return split_invariant() || count < 2 ? steps : (steps + count - 1) / count;
}

/// The loop over sums that an earlier launch left in an array: sum c of chain k at k * chain_stride
/// + c * step_stride.
Loop over_sums(const Loop& loop, long steps, long chain_stride, long step_stride) {
  Loop over;
  over.kept = over_array(loop.kept, chain_stride);
  over.chain = one_loop(steps, step_stride);
  return over;
}

/// All chains, or with `length` < steps their pieces.
template <class T, class C>
void walk(const Launcher& on, const T& term, const Loop& loop, const Pieces& pieces, bool in_rows,
          const Sums<C>& sums) {
  const long n = pieces.chains * pieces.count();
  if (in_rows) {
    on.check(LAUNCH((walk_rows_kernel<T, C>), blocks_for(32 * n), kThreads, 0, on.stream(), term,
                    loop.kept, loop.chain, pieces, n, sums),
             "sum over rows");
  } else {
    on.check(LAUNCH((walk_columns_kernel<T, C>), blocks_for(n), kThreads, 0, on.stream(), term,
                    loop.kept, loop.chain, pieces, n, sums),
             "sum over columns");
  }
}

template <class T>
void sum_chains(const Launcher& on, const Operands& x, const Loop& loop) {
  using C = typename T::Number;
  const bool in_rows = lie_in_rows(x, loop);
  Pieces pieces{loop.kept.count(), loop.chain.count(), loop.chain.count()};
  pieces.length = piece_length(pieces.chains, pieces.steps, in_rows);
  if (pieces.count() < 2) return walk(on, T(x), loop, pieces, in_rows, Sums<C>(x));
  const Workspace parts(static_cast<size_t>(pieces.chains * pieces.count()) * sizeof(C), x.device);
  walk(on, T(x), loop, pieces, in_rows, Sums<C>(parts.as<C>()));
  Operands rest = x;
  rest.inputs = 0;
  rest.add_input(parts.data(), dtype_of<C>());
  const long count = pieces.count();
  const Loop over = over_sums(loop, count, 1, pieces.chains);
  walk(on, DenseTerms<C>(rest), over, {pieces.chains, count, count}, lie_in_rows(rest, over),
       Sums<C>(x));
}

template <class T>
void sum_rounds(const Operands& x, const Loop& loop) {
  using C = typename T::Number;
  const Launcher on(x.device);
  if (loop.inner.rank == 0) return sum_chains<T>(on, x, loop);
  const long steps = loop.chain.count(), n = loop.kept.count() * steps;
  const Workspace totals(static_cast<size_t>(n) * sizeof(C), x.device);
  if (n > 0) {
    on.check(
        LAUNCH((inner_kernel<T, C>), blocks_for(16 * n), kThreads, 0, on.stream(), T(x), loop.kept,
               loop.chain, loop.inner, steps, loop.inner.count(), n, totals.as<C>()),
        "sum over the inner dimensions");
  }
  Operands rest = x;
  rest.inputs = 0;
  rest.add_input(totals.data(), dtype_of<C>());
  sum_chains<DenseTerms<C>>(on, rest, over_sums(loop, steps, steps, 1));
}

}  // namespace

void sum_rounds(DType computed, const Operands& x, const Loop& loop) {
  bool dense = true;
  for (int o = 0; o < x.inputs; ++o) dense = dense && x.dtype[o] == float32;
  if (computed == float64) return sum_rounds<Terms<double>>(x, loop);
  if (computed == int64) return sum_rounds<Terms<int64_t>>(x, loop);
  if (dense) return sum_rounds<DenseTerms<float>>(x, loop);
  sum_rounds<Terms<float>>(x, loop);
}

}  // namespace accrue::kernels::cuda
