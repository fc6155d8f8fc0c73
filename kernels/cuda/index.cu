// Reading and adding at places that an index names. Where many terms meet in one element of y they
// are added in their order, by one thread: so nothing depends on which thread comes first.
#include <accrue/core/cuda/backend.h>
#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/divisor.cuh>
#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/nest.cuh>
#include <accrue/kernels/cuda/sort.cuh>
#include <accrue/kernels/index.h>

namespace accrue::kernels::cuda {
namespace {

struct Indices {
  const void* data;
  bool wide;  // int64, else int32
  explicit Indices(const ConstView& v) : data(v.data), wide(v.dtype == DType::int64) {}
  __device__ long operator[](long i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

// The operands of a loop: the one that is addressed by index, the other, and the index itself.
enum Operand { table, rows, at };

/// The loops over the index's shape; `dim` is left out, or without a stride in the table.
enum class Along { kept, left_out };
Nest loops_of(const ConstView& on_table, const ConstView& on_rows, const ConstView& index, int dim,
              Along along) {
  Nest loops;
  for (int d = 0; d < index.shape.size(); ++d) {
    if (d == dim && along == Along::left_out) continue;
    const int64_t stride[Nest::kOperands] = {d == dim ? 0 : on_table.strides[d], on_rows.strides[d],
                                             index.strides[d]};
    loops.push(index.shape[d], stride);
  }
  loops.merge_neighbours();
  return loops;
}

// ---- reading ----

/// Elements that are moved as they are.
template <class Word>
struct Words {
  Word* data;
  __device__ Word operator[](long i) const { return data[i]; }
  __device__ void set(long i, Word value) const { data[i] = value; }
};

/// One element of y a thread.
template <class X, class Y>
__global__ void gather_kernel(Nest loops, long n, Indices index, long x_step, X x, Y y) {
  for (long i = thread_number(); i < n; i += thread_count()) {
    long offset[Nest::kOperands] = {};
    advance(loops, i, loops.rank, offset);
    y.set(offset[rows], x[offset[table] + index[offset[at]] * x_step]);
  }
}

/// Makes the loops and the step count units of `n` elements, if rows can be moved in such units.
bool in_units(long n, Nest& loops, long& x_step) {
  const int last = loops.rank - 1;
  if (last < 0 || loops.size[last] % n != 0 || x_step % n != 0) return false;
  const int64_t* inner = loops.stride[last];
  if (inner[at] != 0 || inner[table] != 1 || inner[rows] != 1) return false;
  for (int i = 0; i < last; ++i)
    if (loops.stride[i][table] % n != 0 || loops.stride[i][rows] % n != 0) return false;
  loops.size[last] /= n;
  x_step /= n;
  for (int i = 0; i < last; ++i) {
    loops.stride[i][table] /= n;
    loops.stride[i][rows] /= n;
  }
  return true;
}

bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % sizeof(uint4) == 0; }

/// f<C, X, Y>() for equal dtypes, and for a float32 gradient of 16-bit numbers.
template <class F>
void visit_pair(const char* op, DType to, DType from, F&& f, const ConstView& x, const Dest& y) {
  check<DTypeError>(to == from || (to == DType::float32 && is_16bit_float(from)), op, ": from ",
                    from, " to ", to, "; the dtypes must be equal");
  if (!is_floating(to)) return f.template operator()<int64_t, Source<int64_t>, Target<int64_t>>();
  visit_operands(to, f, x, y);
}

// ---- adding ----

/// A sum as y would keep it: 16-bit numbers are rounded after each term.
template <class C>
__device__ C kept(const Target<C>& y, C sum) {
  if (y.dtype == DType::bfloat16) return convert<C>(convert<bfloat16>(sum));
  if (y.dtype == DType::float16) return convert<C>(convert<float16>(sum));
  return sum;
}
template <class T>
__device__ T kept(const DenseTarget<T>&, T sum) {
  return sum;
}

/// Along the indexed dimension: its length, and the operands' strides.
struct Walk {
  long length, in_table, in_rows, in_index;
};

/// One column a thread, with all its terms.
template <class X, class Y>
__global__ void add_columns_kernel(Nest columns, long count, Walk walk, Indices index, long skip,
                                   X x, Y y) {
  for (long i = thread_number(); i < count; i += thread_count()) {
    long offset[Nest::kOperands] = {};
    advance(columns, i, columns.rank, offset);
    for (long j = 0; j < walk.length; ++j) {
      const long picked = index[offset[at] + j * walk.in_index];
      if (picked != skip)
        y.set(offset[table] + picked * walk.in_table, x[offset[rows] + j * walk.in_rows]);
    }
  }
}

/// The row that term j goes to, then j; what is skipped goes behind the last row.
__global__ void make_keys_kernel(Indices index, Walk walk, long skip, Key last, int shift,
                                 Key* keys) {
  for (long j = thread_number(); j < walk.length; j += thread_count()) {
    const long picked = index[j * walk.in_index];
    keys[j] = (picked == skip ? last : static_cast<Key>(picked)) << shift | static_cast<Key>(j);
  }
}

/// The end of the run of keys of one row that begins at p.
__device__ long end_of_run(const Key* keys, long n, long p, Key row, int shift) {
  long width = 1;
  while (p + width < n && keys[p + width] >> shift == row) width *= 2;
  const long from = p + width / 2, most = min(p + width, n);
  return from + keys_below(keys + from, most - from, (row + 1) << shift);
}

/// One position among the sorted keys and one column a thread: if a row's terms begin there, adds
/// them all.
template <class C, class X, class Y>
__global__ void add_runs_kernel(Nest columns, Divisor count, long terms, Walk walk, const Key* keys,
                                Key last, int shift, X x, Y y) {
  for (long i = thread_number(); i < terms; i += thread_count()) {
    const long p = count(i);
    const Key row = keys[p] >> shift;
    if (row == last || (p > 0 && keys[p - 1] >> shift == row)) continue;
    long offset[Nest::kOperands] = {};
    advance(columns, i - count.times(p), columns.rank, offset);
    const long end = end_of_run(keys, walk.length, p, row, shift);
    const long to = offset[table] + static_cast<long>(row) * walk.in_table;
    C sum = y.start(to);
#pragma unroll 4
    for (long q = p; q < end; ++q) {
      const auto j = static_cast<long>(keys[q] - (row << shift));
      sum = kept(y, static_cast<C>(sum + x[offset[rows] + j * walk.in_rows]));
    }
    y.finish(to, sum);
  }
}

/// An index that serves whole rows, and so many of them: terms are sorted by row first, for columns
/// alone would not keep a device busy.
constexpr long kWorthSorting = 64;
bool is_worth_sorting(const Nest& columns, long length) {
  for (int i = 0; i < columns.rank; ++i)
    if (columns.stride[i][at] != 0) return false;
  return length > kWorthSorting;
}

// ---- checking ----

/// *first = the least of it and the positions of the indices outside of [0, bound).
__global__ void check_index_kernel(Source<int64_t> index, long n, long bound, long long* first) {
  for (long i = thread_number(); i < n; i += thread_count()) {
    const long value = index[i];
    if (value >= 0 && value < bound) continue;
    atomicMin(first, static_cast<long long>(i));
    break;  // this thread's later ones are no less
  }
}

[[noreturn]] void fail_at(const char* op, const ConstView& index, int64_t i, int64_t bound) {
  int64_t wide = 0;
  int32_t narrow = 0;
  const size_t bytes = size_of(index.dtype);
  void* value = bytes == sizeof wide ? static_cast<void*>(&wide) : &narrow;
  const long place = Places(index.shape, index.strides)(i);
  const char* from = static_cast<const char*>(index.data) + place * static_cast<long>(bytes);
  accrue::cuda::copy(value, Device::cpu(), from, index.device, bytes, false);
  Dims position = index.shape;
  for (int d = index.shape.size() - 1; d >= 0; --d) {
    position[d] = i % index.shape[d];
    i /= index.shape[d];
  }
  detail::fail<IndexError>(op, ": index ", wide + narrow, " at position ", position,
                           "; it must be in [0, ", bound, ")");
}

}  // namespace

void check_index(const char* op, const ConstView& index, int64_t bound) {
  check<DTypeError>(index.dtype == DType::int64 || index.dtype == DType::int32, op,
                    ": the index is ", index.dtype, "; it must be int64 or int32");
  const long n = numel(index.shape);
  if (n == 0) return;
  const Launcher on(index.device);
  const Workspace first(sizeof(long long), index.device);
  accrue::cuda::fill_bytes(first.data(), index.device, 0x7f, first.bytes());  // more than n
  on.check(LAUNCH(check_index_kernel, blocks_for(n), kThreads, 0, on.stream(),
                  Source<int64_t>(index), n, bound, first.as<long long>()),
           "check_index");
  long long i = 0;
  accrue::cuda::copy(&i, Device::cpu(), first.data(), index.device, sizeof i, false);
  if (i < n) fail_at(op, index, i, bound);
}

void gather(const ConstView& x, int dim, const ConstView& index, const Dest& y) {
  Nest loops = loops_of(x, y.view, index, dim, Along::kept);
  long x_step = x.strides[dim];
  const Launcher on(y.view.device);
  const auto launch = [&](auto from, auto to) {
    const long n = loops.count();
    if (n == 0) return;
    on.check(LAUNCH((gather_kernel<decltype(from), decltype(to)>), blocks_for(n), kThreads, 0,
                    on.stream(), loops, n, Indices(index), x_step, from, to),
             "gather");
  };
  const long unit = static_cast<long>(sizeof(uint4) / size_of(x.dtype));
  if (y.write == Write::overwrite && x.dtype == y.view.dtype && is_aligned(x.data) &&
      is_aligned(y.view.data) && in_units(unit, loops, x_step))
    return launch(Words<const uint4>{static_cast<const uint4*>(x.data)},
                  Words<uint4>{static_cast<uint4*>(y.view.data)});
  const ConstView from = flat(x);
  const Dest to = flat(y);
  visit_pair(
      "gather", y.view.dtype, x.dtype, [&]<class C, class X, class Y>() { launch(X(from), Y(to)); },
      from, to);
}

void scatter_add(const ConstView& src, int dim, const ConstView& index, int64_t skip,
                 const Dest& y) {
  const Nest columns = loops_of(y.view, src, index, dim, Along::left_out);
  const Walk walk{index.shape[dim], y.view.strides[dim], src.strides[dim], index.strides[dim]};
  const long count = columns.count(), terms = count * walk.length;
  const ConstView from = flat(src);
  const Dest to = flat(y);
  const Launcher on(y.view.device);
  const auto add_columns = [&]<class C, class X, class Y>() {
    if (terms == 0) return;
    on.check(LAUNCH((add_columns_kernel<X, Y>), blocks_for(count), kThreads, 0, on.stream(),
                    columns, count, walk, Indices(index), skip, X(from), Y(to)),
             "scatter_add");
  };
  const auto add_runs = [&]<class C, class X, class Y>() {
    if (terms == 0) return;
    int shift = 0;
    while (walk.length >> shift != 0) ++shift;
    const Key last = static_cast<Key>(y.view.shape[dim]);
    const Workspace keys(2 * static_cast<size_t>(walk.length) * sizeof(Key), y.view.device);
    on.check(LAUNCH(make_keys_kernel, blocks_for(walk.length), kThreads, 0, on.stream(),
                    Indices(index), walk, skip, last, shift, keys.as<Key>()),
             "scatter_add");
    const Key* sorted = sort_keys(on, keys.as<Key>(), keys.as<Key>() + walk.length, walk.length);
    on.check(LAUNCH((add_runs_kernel<C, X, Y>), blocks_for(terms), kThreads, 0, on.stream(),
                    columns, Divisor(count), terms, walk, sorted, last, shift, X(from), Y(to)),
             "scatter_add");
  };
  if (is_worth_sorting(columns, walk.length))
    visit_pair("scatter_add", y.view.dtype, src.dtype, add_runs, from, to);
  else
    visit_pair("scatter_add", y.view.dtype, src.dtype, add_columns, from, to);
}

}  // namespace accrue::kernels::cuda
