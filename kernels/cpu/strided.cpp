// Kept elements are cut into tiles of a few hundred, which a block computes in one call. Operands
// that do not lie densely are gathered into buffers on the stack. Threads share out kept elements
// only, and every sum follows loop.h's order, so that neither threads nor strides show in a result.
#include <algorithm>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/convert.h>
#include <accrue/kernels/cpu/lanes.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/strided.h>

namespace accrue::kernels::cpu {
namespace {

constexpr int64_t kBlock = 512;    // elements of a tile; buffers of this size stay in the L1 cache
constexpr int64_t kGrain = 16384;  // elements that are worth a thread
constexpr int kOut = Nest::kOperands - 1;

template <class C>
class Engine {
 public:
  Engine(Block<C> block, const Params& p, const Loop& loop, const ConstView* const* inputs,
         int count, const Dest& y)
      : block_(block), p_(p), loop_(loop), count_(count), write_(y.write) {
    for (int i = 0; i < count; ++i) bind(i, const_cast<void*>(inputs[i]->data), inputs[i]->dtype);
    bind(kOut, y.view.data, y.view.dtype);
    for (int i = 0; i < count; ++i) gather_[i] = gather_of<C>(inputs[i]->dtype);
    gather_[kOut] = gather_of<C>(y.view.dtype);
    scatter_ = scatter_of<C>(y.view.dtype);
  }

  void run() {
    if (loop_.kept.count() == 0) return;
    if (sums_along_rows()) {
      const int64_t work = std::max<int64_t>(1, loop_.chain.count() * loop_.inner.count());
      parallel_for(loop_.kept.count(), std::max<int64_t>(1, kGrain / work),
                   [&](int64_t begin, int64_t end) { sum_rows(begin, end); });
      return;
    }
    cut();
    const int64_t work = kBlock * std::max<int64_t>(1, loop_.chain.count());
    parallel_for(tiles_, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
      loop_.sums() ? sum_columns(begin, end) : map(begin, end);
    });
  }

 private:
  // What one thread reads into; remembers its content, as broadcast operands come again and again.
  struct Buffer {
    alignas(64) C values[kBlock];
    const char* from = nullptr;
    Tile tile;
  };
  struct Piece {
    int64_t offset[Nest::kOperands] = {};
    Tile tile[Nest::kOperands];
  };

  void bind(int operand, void* data, DType dtype) {
    base_[operand] = static_cast<char*>(data);
    bytes_[operand] = static_cast<int64_t>(size_of(dtype));
    is_c_[operand] = dtype == dtype_of<C>();
  }

  const C* read(int operand, int64_t offset, const Tile& tile, Buffer& buffer) const {
    const char* from = base_[operand] + offset * bytes_[operand];
    if (is_c_[operand] && tile.is_dense()) return reinterpret_cast<const C*>(from);
    if (buffer.from != from || buffer.tile != tile) {
      gather_[operand](from, tile, buffer.values);
      buffer.from = from;
      buffer.tile = tile;
    }
    return buffer.values;
  }
  void read_all(const int64_t* offset, const Tile* tiles, Buffer* buffers, const C** in) const {
    for (int i = 0; i < count_; ++i) in[i] = read(i, offset[i], tiles[i], buffers[i]);
  }
  char* out_at(int64_t offset) const { return base_[kOut] + offset * bytes_[kOut]; }

  // ---- the tiles of the kept elements ----

  void cut() {
    const Nest& kept = loop_.kept;
    rows_ = kept.rank >= 2 ? kept.size[kept.rank - 2] : 1;
    cols_ = kept.rank >= 1 ? kept.size[kept.rank - 1] : 1;
    for (int o = 0; o < Nest::kOperands; ++o) {
      row_stride_[o] = kept.rank >= 2 ? kept.stride[kept.rank - 2][o] : 0;
      col_stride_[o] = kept.rank >= 1 ? kept.stride[kept.rank - 1][o] : 0;
    }
    const int64_t most = loop_.sums() ? kBlock / 2 : kBlock;
    tile_cols_ = std::min(cols_, most);
    // A transposed operand is read a cache line at a time in both directions.
    for (int o = 0; o < Nest::kOperands; ++o) {
      if (col_stride_[o] > 1 && row_stride_[o] < col_stride_[o] && rows_ > 1) {
        tile_cols_ = std::min<int64_t>(tile_cols_, 16);
      }
    }
    tile_rows_ = std::clamp<int64_t>(most / tile_cols_, 1, rows_);
    col_tiles_ = ceil_div(cols_, tile_cols_);
    row_tiles_ = ceil_div(rows_, tile_rows_);
    tiles_ = kept.count() / (rows_ * cols_) * row_tiles_ * col_tiles_;
  }

  Piece piece(int64_t index) const {
    const int64_t row = index / col_tiles_ % row_tiles_ * tile_rows_;
    const int64_t col = index % col_tiles_ * tile_cols_;
    Piece piece;
    loop_.kept.add_offset(index / (col_tiles_ * row_tiles_), loop_.kept.rank - 2, piece.offset);
    for (int o = 0; o < Nest::kOperands; ++o) {
      piece.offset[o] += row * row_stride_[o] + col * col_stride_[o];
      piece.tile[o] = {std::min(tile_rows_, rows_ - row), std::min(tile_cols_, cols_ - col),
                       row_stride_[o], col_stride_[o]};
    }
    return piece;
  }

  void map(int64_t begin, int64_t end) const {
    Buffer buffers[Nest::kOperands];
    for (int64_t index = begin; index < end; ++index) {
      const Piece at = piece(index);
      const Tile& tile = at.tile[kOut];
      const C* in[3] = {};
      read_all(at.offset, at.tile, buffers, in);
      char* out = out_at(at.offset[kOut]);
      if (is_c_[kOut] && tile.is_dense()) {
        block_(p_, in, reinterpret_cast<C*>(out), tile.size(), write_);
      } else {
        C* values = buffers[kOut].values;
        block_(p_, in, values, tile.size(), Write::overwrite);
        scatter_(values, tile, out, write_);
      }
    }
  }

  // A tile's sums grow side by side while the chain is walked.
  void sum_columns(int64_t begin, int64_t end) const {
    Buffer buffers[Nest::kOperands];
    const int64_t steps = loop_.chain.count();
    for (int64_t index = begin; index < end; ++index) {
      const Piece at = piece(index);
      const Tile& tile = at.tile[kOut];
      char* out = out_at(at.offset[kOut]);
      const bool in_place = is_c_[kOut] && tile.is_dense();
      C* sums = in_place ? reinterpret_cast<C*>(out) : buffers[kOut].values;
      if (write_ == Write::overwrite) {
        std::fill_n(sums, tile.size(), C(0));
      } else if (!in_place) {
        gather_[kOut](out, tile, sums);
      }
      for (int64_t step = 0; step < steps; ++step) {
        int64_t offset[Nest::kOperands] = {};
        std::copy_n(at.offset, Nest::kOperands, offset);
        loop_.chain.add_offset(step, loop_.chain.rank, offset);
        const C* in[3] = {};
        read_all(offset, at.tile, buffers, in);
        block_(p_, in, sums, tile.size(), Write::add);
      }
      if (!in_place) scatter_(sums, tile, out, Write::overwrite);
    }
  }

  // ---- sums whose terms lie closer together than the kept elements ----

  bool sums_along_rows() const {
    if (!loop_.sums()) return false;
    const Nest& chain = loop_.chain;
    const Nest& kept = loop_.kept;
    if (loop_.inner.rank > 0 || kept.rank == 0) return true;
    for (int i = 0; i < count_; ++i) {
      const int64_t along_chain = chain.stride[chain.rank - 1][i];
      if (along_chain != 0 && along_chain < kept.stride[kept.rank - 1][i]) return true;
    }
    return false;
  }

  // The values of `nest` from `offset` on, row by row, handed to `consume` in pieces.
  template <class F>
  void each_value(const Nest& nest, const int64_t* offset, Buffer* buffers, F consume) const {
    const int64_t cols = nest.rank > 0 ? nest.size[nest.rank - 1] : 1;
    const int64_t rows = cols == 0 ? 0 : nest.count() / cols;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t at[Nest::kOperands];
      std::copy_n(offset, Nest::kOperands, at);
      nest.add_offset(row, nest.rank - 1, at);
      for (int64_t col = 0; col < cols; col += kBlock) {
        const int64_t n = std::min(kBlock, cols - col);
        const C* in[3] = {};
        for (int i = 0; i < count_; ++i) {
          const int64_t stride = nest.rank > 0 ? nest.stride[nest.rank - 1][i] : 0;
          in[i] = read(i, at[i] + col * stride, {1, n, 0, stride}, buffers[i]);
        }
        block_(p_, in, buffers[kOut].values, n, Write::overwrite);
        consume(buffers[kOut].values, n);
      }
    }
  }

  void sum_rows(int64_t begin, int64_t end) const {
    Buffer buffers[Nest::kOperands];
    const int64_t steps = loop_.chain.count();
    for (int64_t index = begin; index < end; ++index) {
      int64_t offset[Nest::kOperands] = {};
      loop_.kept.add_offset(index, loop_.kept.rank, offset);
      char* out = out_at(offset[kOut]);
      C sum = 0;
      if (write_ == Write::add)
        is_c_[kOut] ? void(sum = *reinterpret_cast<C*>(out)) : gather_[kOut](out, {}, &sum);
      if (loop_.inner.rank == 0) {
        each_value(loop_.chain, offset, buffers, [&](const C* values, int64_t n) {
          for (int64_t i = 0; i < n; ++i) sum += values[i];
        });
      } else {
        for (int64_t step = 0; step < steps; ++step) {
          int64_t at[Nest::kOperands];
          std::copy_n(offset, Nest::kOperands, at);
          loop_.chain.add_offset(step, loop_.chain.rank, at);
          Lanes<SumOf<C>> lanes;
          each_value(loop_.inner, at, buffers,
                     [&](const C* values, int64_t n) { lanes.add(values, n); });
          sum += static_cast<C>(lanes.total());
        }
      }
      scatter_(&sum, {}, out, Write::overwrite);
    }
  }

  Block<C> block_;
  Params p_;
  const Loop& loop_;
  int count_;
  Write write_;
  char* base_[Nest::kOperands] = {};
  int64_t bytes_[Nest::kOperands] = {};
  bool is_c_[Nest::kOperands] = {};
  Gather<C> gather_[Nest::kOperands] = {};
  Scatter<C> scatter_ = nullptr;

  int64_t rows_ = 1, cols_ = 1, tile_rows_ = 1, tile_cols_ = 1;
  int64_t row_tiles_ = 1, col_tiles_ = 1, tiles_ = 1;
  int64_t row_stride_[Nest::kOperands] = {}, col_stride_[Nest::kOperands] = {};
};

}  // namespace

template <class C>
void run_strided(Block<C> block, const Params& p, const Loop& loop, const ConstView* const* inputs,
                 int count, const Dest& y) {
  Engine<C>(block, p, loop, inputs, count, y).run();
}
template void run_strided(Block<float>, const Params&, const Loop&, const ConstView* const*, int,
                          const Dest&);
template void run_strided(Block<double>, const Params&, const Loop&, const ConstView* const*, int,
                          const Dest&);
template void run_strided(Block<int64_t>, const Params&, const Loop&, const ConstView* const*, int,
                          const Dest&);

}  // namespace accrue::kernels::cpu
