// Sums. The n terms of one result are cut into parts of 4096; a part is summed in double (int64 for
// integers) by sixteen lanes, and lane l has the terms whose position is l modulo 16; neighbouring
// lanes are added first. Then the parts' sums are added in their order. That is what the CPU does
// up to n = 262144, so the bits are the same; beyond that the parts' sums are summed like terms.
//
// Now read: extremum.cu, where the order does not matter.
#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/launch.cuh>
#include <accrue/kernels/cuda/nest.cuh>
#include <accrue/kernels/reduce.h>

namespace accrue::kernels::cuda {
namespace {

constexpr int kLanes = 16;
constexpr long kPart = 4096;
constexpr long kMostParts = 64;  // that are added one after another
constexpr int kColumns = 32;     // side by side in a block of 16 lanes each

/// Elements of any dtype as terms of type C = double or int64_t.
template <class C>
struct Terms {
  using Sum = C;
  const void* data;
  DType dtype;
  __device__ C operator[](long place) const { return load_as<C>(data, dtype, place); }
};
struct FloatTerms {
  using Sum = double;
  const float* data;
  __device__ double operator[](long place) const { return static_cast<double>(data[place]); }
};

/// Where sums go: to y, divided, or as they are into an array, part p of result k at k * parts + p.
template <class Sum>
struct Sums {
  void* y;
  DType dtype;
  Write write;
  double divisor;
  Sum* array;

  __device__ void put(long offset, long i, Sum sum) const {
    if (array != nullptr) {
      array[i] = sum;
    } else if (std::is_integral_v<Sum> && divisor == 1) {
      put_as(y, dtype, offset, sum, write);
    } else {
      put_as(y, dtype, offset, static_cast<double>(sum) / divisor, write);
    }
  }
};

/// Which elements: a Loop without the distinction between chain and inner.
struct Plan {
  Nest kept, reduced;
  long results, n, parts;

  Plan(const Nest& its_kept, const Nest& its_reduced)
      : kept(its_kept),
        reduced(its_reduced),
        results(kept.count()),
        n(reduced.count()),
        parts(n <= kPart ? 1 : (n + kPart - 1) / kPart) {}
  __device__ long end(long part) const { return (part + 1) * kPart < n ? (part + 1) * kPart : n; }
};

/// Calls f(place) for the elements first, first + 16, ... before `end` of one result.
template <class F>
__device__ void each_sixteenth(const Nest& reduced, long start, long first, long end, F f) {
  if (reduced.rank == 1) {
    const long stride = reduced.stride[0][0];
#pragma unroll 8
    for (long j = first; j < end; j += kLanes) f(start + j * stride);
  } else {
    for (long j = first; j < end; j += kLanes) {
      long at[Nest::kOperands] = {start};
      advance(reduced, j, reduced.rank, at);
      f(at[0]);
    }
  }
}

/// Half a warp sums one part of one result.
template <class T>
__global__ void sum_rows_kernel(T term, Plan plan, Sums<typename T::Sum> sums) {
  using Sum = typename T::Sum;
  const int lane = threadIdx.x & (kLanes - 1);
  const long n = plan.results * plan.parts;
  for (long i = thread_number() / kLanes; i < (n + 1) / 2 * 2; i += thread_count() / kLanes) {
    long at[Nest::kOperands] = {};
    Sum sum = 0;
    if (i < n) {
      const long part = i % plan.parts;
      advance(plan.kept, i / plan.parts, plan.kept.rank, at);
      each_sixteenth(plan.reduced, at[0], part * kPart + lane, plan.end(part),
                     [&](long place) { sum = plus(sum, term[place]); });
    }
#pragma unroll
    for (int bits = 1; bits < kLanes; bits *= 2)
      sum = plus(sum, __shfl_xor_sync(kFullMask, sum, bits));
    if (lane == 0 && i < n) sums.put(at[kOut], i, sum);
  }
}

/// A block sums one part of 32 neighbouring results: a warp is the same lane of all of them.
template <class T>
__global__ void sum_columns_kernel(T term, Plan plan, long columns, Sums<typename T::Sum> sums) {
  using Sum = typename T::Sum;
  SIMT_SHARED(Sum, lanes, [kLanes][kColumns]);
  const int lane = threadIdx.x / kColumns, mine = threadIdx.x % kColumns;
  const long tiles = (columns + kColumns - 1) / kColumns;
  const long n = plan.results / columns * tiles * plan.parts;
  for (long i = blockIdx.x; i < n; i += gridDim.x) {
    const long part = i % plan.parts, tile = i / plan.parts;
    const long column = tile % tiles * kColumns + mine;
    const long result = tile / tiles * columns + column;
    long at[Nest::kOperands] = {};
    Sum sum = 0;
    if (column < columns) {
      advance(plan.kept, result, plan.kept.rank, at);
      each_sixteenth(plan.reduced, at[0], part * kPart + lane, plan.end(part),
                     [&](long place) { sum = plus(sum, term[place]); });
    }
    lanes[lane][mine] = sum;
    __syncthreads();
    if (lane == 0 && column < columns) {
      Sum value[kLanes];
#pragma unroll
      for (int l = 0; l < kLanes; ++l) value[l] = lanes[l][mine];
#pragma unroll
      for (int step = 1; step < kLanes; step *= 2)
#pragma unroll
        for (int l = 0; l < kLanes; l += 2 * step) value[l] = plus(value[l], value[l + step]);
      sums.put(at[kOut], result * plan.parts + part, value[0]);
    }
    __syncthreads();  // before the lanes' sums of the next round
  }
}

/// One thread adds the sums of one result's parts.
template <class Sum>
__global__ void add_parts_kernel(const Sum* parts, long count, Nest kept, long n, Sums<Sum> sums) {
  for (long i = thread_number(); i < n; i += thread_count()) {
    long at[Nest::kOperands] = {};
    advance(kept, i, kept.rank, at);
    Sum sum = 0;
#pragma unroll 8
    for (long part = 0; part < count; ++part) sum = plus(sum, parts[i * count + part]);
    sums.put(at[kOut], i, sum);
  }
}

/// Whether results lie side by side, and the terms of one do not.
bool lies_in_columns(const Plan& plan) {
  const Nest &kept = plan.kept, &reduced = plan.reduced;
  return kept.rank > 0 && reduced.rank > 0 && kept.stride[kept.rank - 1][0] == 1 &&
         kept.size[kept.rank - 1] >= 8 && reduced.stride[reduced.rank - 1][0] != 1;
}

template <class T>
void sum_parts(const Launcher& on, const T& term, const Plan& plan,
               const Sums<typename T::Sum>& sums) {
  if (lies_in_columns(plan)) {
    const long columns = plan.kept.size[plan.kept.rank - 1];
    const long tiles = (columns + kColumns - 1) / kColumns;
    on.check(
        LAUNCH((sum_columns_kernel<T>), blocks_for(plan.results / columns * tiles * plan.parts, 1),
               kLanes * kColumns, 0, on.stream(), term, plan, columns, sums),
        "sum of columns");
  } else {
    on.check(LAUNCH((sum_rows_kernel<T>), blocks_for(kLanes * plan.results * plan.parts), kThreads,
                    0, on.stream(), term, plan, sums),
             "sum of rows");
  }
}

template <class T>
void sum_all(const Launcher& on, Device device, const T& term, const Plan& plan,
             const Sums<typename T::Sum>& sums) {
  using Sum = typename T::Sum;
  if (plan.parts == 1) return sum_parts(on, term, plan, sums);
  const Workspace space(static_cast<size_t>(plan.results * plan.parts) * sizeof(Sum), device);
  Sum* const parts = space.as<Sum>();
  Sums<Sum> to_parts = sums;
  to_parts.array = parts;
  sum_parts(on, term, plan, to_parts);
  if (plan.parts > kMostParts) {
    const Plan rest(over_array(plan.kept, plan.parts), one_loop(plan.parts));
    return sum_all(on, device, Terms<Sum>{parts, dtype_of<Sum>()}, rest, sums);
  }
  on.check(LAUNCH((add_parts_kernel<Sum>), blocks_for(plan.results), kThreads, 0, on.stream(),
                  parts, plan.parts, plan.kept, plan.results, sums),
           "sum of parts");
}

/// Rows along one dimension: where element j of row r stands in row-major order.
struct Along {
  long rows, length, inner;

  Along(const Dims& shape, int dim) : rows(1), length(shape[dim]), inner(1) {
    for (int d = 0; d < shape.size(); ++d) {
      if (d != dim) rows *= shape[d];
      if (d > dim) inner *= shape[d];
    }
  }
  __device__ long operator()(long r, long j) const {
    const long outer = r / inner;
    return (outer * length + j) * inner + r - outer * inner;
  }
};

/// A warp walks a row, 32 elements at a time, in S = double or int64_t: each lane adds what the
/// lanes before it have, in five steps of doubled reach, then the total of all elements before
/// these.
template <class S>
__global__ void cumsum_kernel(Source<S> x, Along along, bool reverse, Target<S> y) {
  const int lane = threadIdx.x & 31;
  for (long r = thread_number() / 32; r < along.rows; r += thread_count() / 32) {
    S before = 0;
    for (long first = 0; first < along.length; first += 32) {
      const long step = first + lane;
      const long i = along(r, reverse ? along.length - 1 - step : step);
      S sum = step < along.length ? x[i] : S(0);
#pragma unroll
      for (int reach = 1; reach < 32; reach *= 2) {
        const S behind = __shfl_up_sync(kFullMask, sum, reach);
        if (lane >= reach) sum = plus(sum, behind);
      }
      sum = plus(before, sum);
      if (step < along.length) y.set(i, sum);
      before = __shfl_sync(kFullMask, sum, 31);
    }
  }
}

template <class S>
void running_sums(const ConstView& x, int dim, bool reverse, const Dest& y) {
  const Along along(x.shape, dim);
  if (along.rows * along.length == 0) return;
  const Launcher on(y.view.device);
  on.check(LAUNCH((cumsum_kernel<S>), blocks_for(32 * along.rows), kThreads, 0, on.stream(),
                  Source<S>(x), along, reverse, Target<S>(y)),
           "cumsum");
}

}  // namespace

void sum(const ConstView& x, double divisor, const Dest& y) {
  const ConstView* const inputs[] = {&x};
  const Loop loop = plan_loop("sum", inputs, 1, y.view);
  const Plan plan(loop.kept, loop.summed());
  if (plan.results == 0) return;
  const Launcher on(y.view.device);
  const auto run = [&]<class T>(const T& term) {
    const Sums<typename T::Sum> sums{y.view.data, y.view.dtype, y.write, divisor, nullptr};
    sum_all(on, y.view.device, term, plan, sums);
  };
  if (x.dtype == float32) return run(FloatTerms{static_cast<const float*>(x.data)});
  if (is_floating(x.dtype)) return run(Terms<double>{x.data, x.dtype});
  run(Terms<int64_t>{x.data, x.dtype});
}

void cumsum(const ConstView& x, int dim, bool reverse, const Dest& y) {
  if (is_floating(x.dtype)) return running_sums<double>(x, dim, reverse, y);
  running_sums<int64_t>(x, dim, reverse, y);
}

}  // namespace accrue::kernels::cuda
