// The largest and the smallest, where they are, and how they share a gradient. Whoever meets two
// candidates prefers NaN, then the better number, then the first: so it does not matter who looks
// at which elements in what order.
//
// Now read: reduce.cu, where the order does matter.
#include <algorithm>

#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/nest.cuh>
#include <accrue/kernels/cuda/reduce.cuh>
#include <accrue/kernels/reduce.h>

namespace accrue::kernels::cuda {
namespace {

/// How a reduction is shared out. The n elements of each result are cut into parts of equal length;
/// a team has one part: a warp, or a single thread where results lie side by side in memory and
/// their elements do not.
struct Teams {
  Nest kept, reduced;
  int size;
  long results, n, length, parts;

  Teams(const Nest& its_kept, const Nest& its_reduced)
      : kept(its_kept), reduced(its_reduced), results(kept.count()), n(reduced.count()) {
    const bool columns = kept.rank > 0 && reduced.rank > 0 && kept.stride[kept.rank - 1][0] == 1 &&
                         reduced.stride[reduced.rank - 1][0] != 1;
    size = columns ? 1 : 32;
    const long shortest = columns ? 64 : 1024;
    const long enough = columns ? 65536 : 2048;  // teams
    length = n;
    if (results > 0 && n >= 2 * shortest) {
      const long wanted = std::min(n / shortest, (enough + results - 1) / results);
      length = (n + wanted - 1) / wanted;
    }
    parts = length > 0 ? (n + length - 1) / length : 1;
  }
  long count() const { return results * parts; }
  unsigned blocks() const { return blocks_for(size * count()); }
  __device__ long result(long team) const { return team / parts; }

  /// Calls f(j, offsets) for what the caller has of a team's elements: j is the row-major index of
  /// an element. `start` holds the result's offsets.
  template <class F>
  __device__ void each(long team, const long* start, F f) const {
    const long begin = team % parts * length;
    const long end = begin + length < n ? begin + length : n;
    for (long j = begin + threadIdx.x % size; j < end; j += size) {
      long at[Nest::kOperands];
#pragma unroll
      for (int o = 0; o < Nest::kOperands; ++o) at[o] = start[o];
      advance(reduced, j, reduced.rank, at);
      f(j, at);
    }
  }
};

/// A candidate and where it was met; index -1 is none.
template <class C>
struct Candidate {
  C value;
  long index;
};

struct Better {
  bool largest;

  template <class C>
  __device__ bool beats(C a, C b) const {
    return (largest ? a > b : a < b) || (a != a && b == b);
  }
  template <class C>
  __device__ Candidate<C> operator()(Candidate<C> a, Candidate<C> b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    if (beats(a.value, b.value)) return a;
    if (beats(b.value, a.value)) return b;
    return a.index < b.index ? a : b;
  }
};

/// Candidates as they come: elements, or the best of parts of them.
template <class C>
struct Elements {
  const void* data;
  DType dtype;
  __device__ Candidate<C> operator()(long j, long place) const {
    return {load_as<C>(data, dtype, place), j};
  }
};
template <class C>
struct BestOfParts {
  const Candidate<C>* data;
  __device__ Candidate<C> operator()(long, long place) const { return data[place]; }
};

/// Where the best go: their value or index to y, or both to an array.
template <class C>
struct Found {
  void* y;
  DType dtype;
  Write write;
  bool index_wanted;
  Candidate<C>* array;

  __device__ void put(long offset, long team, const Candidate<C>& best) const {
    if (array != nullptr) {
      array[team] = best;
    } else if (index_wanted) {
      put_as(y, dtype, offset, static_cast<int64_t>(best.index), write);
    } else {
      put_as(y, dtype, offset, best.value, write);
    }
  }
};

/// A team finds the best of one part of one result.
template <class C, class Candidates>
__global__ void find_kernel(Candidates candidate, Teams teams, long n, Better better,
                            Found<C> found) {
  for (long i = thread_number() / teams.size; i < n; i += thread_count() / teams.size) {
    long start[Nest::kOperands] = {};
    advance(teams.kept, teams.result(i), teams.kept.rank, start);
    Candidate<C> best = {C(0), -1};
    teams.each(i, start, [&](long j, const long* at) { best = better(best, candidate(j, at[0])); });
    if (teams.size == 32) best = warp_fold(best, better);
    if (threadIdx.x % teams.size == 0) found.put(start[kOut], i, best);
  }
}

template <class C>
void find_in(const ConstView& x, const Teams& teams, Better better, Found<C> found) {
  const Launcher on(x.device);
  const Elements<C> elements{x.data, x.dtype};
  if (teams.parts == 1) {
    on.check(LAUNCH((find_kernel<C, Elements<C>>), teams.blocks(), kThreads, 0, on.stream(),
                    elements, teams, teams.count(), better, found),
             "extremum");
    return;
  }
  const Workspace space(static_cast<size_t>(teams.count()) * sizeof(Candidate<C>), x.device);
  Found<C> of_parts = found;
  of_parts.array = space.as<Candidate<C>>();
  on.check(LAUNCH((find_kernel<C, Elements<C>>), teams.blocks(), kThreads, 0, on.stream(), elements,
                  teams, teams.count(), better, of_parts),
           "extremum of parts");
  Teams rest(over_array(teams.kept, teams.parts), one_loop(teams.parts));
  rest.length = rest.n;  // not in parts again: these are few
  rest.parts = 1;
  on.check(LAUNCH((find_kernel<C, BestOfParts<C>>), rest.blocks(), kThreads, 0, on.stream(),
                  BestOfParts<C>{of_parts.array}, rest, rest.count(), better, found),
           "extremum over parts");
}

enum class Wanted : uint8_t { value, index };

void find(const char* op, bool largest, Wanted wanted, const ConstView& x, const Dest& y) {
  const ConstView* const inputs[] = {&x};
  const Loop loop = plan_loop(op, inputs, 1, y.view);
  const Teams teams(loop.kept, loop.summed());
  if (teams.results == 0) return;
  check<ShapeError>(teams.n > 0, op, ": nothing to choose from: x is ", x.shape,
                    "; a reduced dimension must not be 0");
  const auto run = [&]<class C>(C) {
    find_in(x, teams, Better{largest},
            Found<C>{y.view.data, y.view.dtype, y.write, wanted == Wanted::index, nullptr});
  };
  if (x.dtype == float64) return run(double());
  if (is_floating(x.dtype)) return run(float());
  run(int64_t());
}

// ---- the gradient ----

/// x, the gradient dy of its extremum, that of x, and the extremum y: operands 0 to 3 of a Loop.
template <class C>
struct Shares {
  Source<C> x, dy, y;
  Target<C> dx;

  __device__ bool is_best(C best, long place) const {
    const C v = load_as<C>(x.data, x.dtype, place);
    return v == best || (v != v && best != best);
  }
  __device__ C best(const long* at) const { return load_as<C>(y.data, y.dtype, at[kOut]); }
};

/// A team counts the elements of one part that equal the extremum.
template <class C>
__device__ long count_ties(const Shares<C>& shares, const Teams& teams, long i, const long* start) {
  const C best = shares.best(start);
  long ties = 0;
  teams.each(i, start, [&](long, const long* at) { ties += shares.is_best(best, at[0]); });
  return teams.size == 32 ? warp_sum(ties) : ties;
}
template <class C>
__global__ void count_ties_kernel(Shares<C> shares, Teams teams, long n, long* counts) {
  for (long i = thread_number() / teams.size; i < n; i += thread_count() / teams.size) {
    long start[Nest::kOperands] = {};
    advance(teams.kept, teams.result(i), teams.kept.rank, start);
    const long ties = count_ties(shares, teams, i, start);
    if (threadIdx.x % teams.size == 0) counts[i] = ties;
  }
}

/// A team writes the gradient of one part. Without `counts` the part is all, and it counts first.
template <class C>
__global__ void share_kernel(Shares<C> shares, Teams teams, long n, const long* counts) {
  for (long i = thread_number() / teams.size; i < n; i += thread_count() / teams.size) {
    const long result = teams.result(i);
    long start[Nest::kOperands] = {};
    advance(teams.kept, result, teams.kept.rank, start);
    long ties = 0;
    if (counts == nullptr) {
      ties = count_ties(shares, teams, i, start);
    } else {
      for (long part = 0; part < teams.parts; ++part) ties += counts[result * teams.parts + part];
    }
    const C best = shares.best(start);
    const C each = load_as<C>(shares.dy.data, shares.dy.dtype, start[1]) / static_cast<C>(ties);
    teams.each(i, start, [&](long, const long* at) {
      const C value = shares.is_best(best, at[0]) ? each : C(0);
      put_as(shares.dx.data, shares.dx.dtype, at[2], value, shares.dx.write);
    });
  }
}

template <class C>
void share(const ConstView& dy, const ConstView& x, const ConstView& y, const Dest& dx) {
  const ConstView moving = dx.view;
  const ConstView* const inputs[] = {&x, &dy, &moving};
  const Loop loop = plan_loop("extremum_grad", inputs, 3,
                              {const_cast<void*>(y.data), y.shape, y.strides, y.dtype, y.device});
  const Teams teams(loop.kept, loop.summed());
  const long n = teams.count();
  if (n == 0 || teams.n == 0) return;
  const Shares<C> shares{Source<C>(x), Source<C>(dy), Source<C>(y), Target<C>(dx)};
  const Launcher on(dx.view.device);
  const auto write = [&](const long* counts) {
    on.check(LAUNCH((share_kernel<C>), teams.blocks(), kThreads, 0, on.stream(), shares, teams, n,
                    counts),
             "extremum_grad");
  };
  if (teams.parts == 1) return write(nullptr);
  const Workspace counts(static_cast<size_t>(n) * sizeof(long), dx.view.device);
  on.check(LAUNCH((count_ties_kernel<C>), teams.blocks(), kThreads, 0, on.stream(), shares, teams,
                  n, counts.as<long>()),
           "extremum_grad");
  write(counts.as<long>());
}

}  // namespace

void amax(const ConstView& x, const Dest& y) { find("amax", true, Wanted::value, x, y); }
void amin(const ConstView& x, const Dest& y) { find("amin", false, Wanted::value, x, y); }
void argmax(const ConstView& x, const Dest& y) { find("argmax", true, Wanted::index, x, y); }
void argmin(const ConstView& x, const Dest& y) { find("argmin", false, Wanted::index, x, y); }

void extremum_grad(const ConstView& dy, const ConstView& x, const ConstView& y, const Dest& dx) {
  return x.dtype == float64 ? share<double>(dy, x, y, dx) : share<float>(dy, x, y, dx);
}

}  // namespace accrue::kernels::cuda
