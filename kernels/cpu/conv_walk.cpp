#include <algorithm>

#include <accrue/core/workspace.h>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/conv_tile.h>
#include <accrue/kernels/cpu/conv_walk.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/scratch.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cpu {
namespace {

// Channels of the result in tiles of an even number of rows.
struct Tiles {
  int64_t channels, pairs, count;
  Tiles(int64_t n, int64_t most) : channels(n), pairs(ceil_div(n, 2)) {
    count = ceil_div(pairs, most / 2);
  }
  int64_t begin(int64_t t) const { return pairs * t / count * 2; }
  int64_t rows(int64_t t) const { return begin(t + 1) - begin(t); }
  int64_t padded() const { return 2 * pairs; }
};

template <class T>
class Runner {
 public:
  Runner(const ConvPass& pass, const ConvWalk& walk, const Tiles& tiles)
      : p_(pass), walk_(walk), tiles_(tiles), lanes_(conv_tile_shape<T>().lanes) {
    // Where rows are short, vectors run on through the frame from row to row.
    const int64_t by_row = walk.rows * ceil_div(walk.cols, lanes_);
    const int64_t flat_cols = (walk.rows - 1) * walk.in_row + walk.cols;
    flat_ = walk.rows > 1 && 4 * ceil_div(flat_cols, lanes_) <= 3 * by_row;
    cols_ = flat_ ? flat_cols : walk.cols;
    vectors_ = flat_ ? ceil_div(flat_cols, lanes_) : by_row;
    direct_ = !flat_ && p_.out.view.dtype == dtype_of<T>() && (walk.out_x == 1 || walk.cols == 1);
  }

  int64_t packed_size() const { return p_.groups * tiles_.padded() * taps(); }
  int64_t vectors() const { return vectors_; }

  // packed[g][tile][tap][row]
  void pack_weights(T* packed) {
    packed_ = packed;
    visit_float(p_.w.dtype, [&]<class In>() {
      for (int64_t g = 0; g < p_.groups; ++g) {
        for (int64_t t = 0; t < tiles_.count; ++t) {
          const int64_t first = tiles_.begin(t), rows = tiles_.rows(t);
          pack_tile(static_cast<const In*>(p_.w.data) + g * p_.w_group + first * p_.w_channel,
                    std::min(rows, tiles_.channels - first), rows, packed);
          packed += rows * taps();
        }
      }
    });
  }

  // Vectors [begin, end) of one tile of one image, whose frame is at `in`.
  void run(const T* in, const T* start, int64_t image, int64_t group, int64_t tile, int64_t begin,
           int64_t end) const {
    const int64_t first = tiles_.begin(tile);
    const int64_t in_channels = p_.frame.channels / p_.groups;
    ConvSweep<T> s;
    s.taps_count = taps();
    s.taps = walk_.taps.data();
    s.w = packed_ + (group * tiles_.padded() + first) * taps();
    s.start = start + group * tiles_.padded() + first;
    s.rows = tiles_.rows(tile);
    s.rows_written = std::min(s.rows, tiles_.channels - first);
    s.in = in + group * in_channels * p_.frame.plane();
    s.cols = cols_;
    s.in_row = walk_.in_row;
    s.begin = begin, s.end = end;
    const View& out = p_.out.view;
    const int64_t at =
        image * out.strides[0] + (group * tiles_.channels + first) * out.strides[1] + walk_.out;
    if (direct_) {
      s.out = static_cast<T*>(out.data) + at;
      s.out_channel = out.strides[1];
      s.out_row = walk_.out_y;
      s.add = p_.out.write == Write::add;
      return run_sweep(s);
    }
    s.out_channel = (end - begin) * lanes_;
    s.out_row = ceil_div(cols_, lanes_) * lanes_;
    s.whole_vectors = true;
    const Scratch scratch(static_cast<size_t>(s.rows * s.out_channel) * sizeof(T));
    s.out = scratch.as<T>() - begin * lanes_;
    run_sweep(s);
    visit_float(out.dtype, [&]<class Out>() {
      for (int64_t r = 0; r < s.rows_written; ++r) {
        scatter(scratch.as<T>() + r * s.out_channel, begin, end,
                static_cast<Out*>(out.data) + at + r * out.strides[1]);
      }
    });
  }

 private:
  int64_t taps() const { return static_cast<int64_t>(walk_.taps.size()); }

  // Runs of weights that lie side by side are transposed at once.
  template <class In>
  void pack_tile(const In* from, int64_t channels, int64_t rows, T* packed) const {
    const int64_t* at = walk_.weights.data();
    for (int64_t tap = 0, run = 1; tap < taps(); tap += run, packed += run * rows) {
      for (run = 1; tap + run < taps() && at[tap + run] == at[tap] + run;) ++run;
      if constexpr (std::is_same_v<T, In>) {
        run_transpose(from + at[tap], p_.w_channel, channels, run, packed, rows);
      } else {
        for (int64_t i = 0; i < run * channels; ++i) {
          packed[i / channels * rows + i % channels] =
              static_cast<T>(from[at[tap] + i / channels + i % channels * p_.w_channel]);
        }
      }
      for (int64_t i = 0; rows > channels && i < run; ++i) packed[i * rows + channels] = T(0);
    }
  }

  // Sends the vectors [begin, end), side by side at `from`, to their places in a channel.
  template <class Out>
  void scatter(const T* from, int64_t begin, int64_t end, Out* channel) const {
    const int64_t in_row = ceil_div(cols_, lanes_);  // vectors
    for (int64_t j = begin; j < end; ++j, from += lanes_) {
      int64_t y = j / in_row, x = j % in_row * lanes_;
      const int64_t count = std::min(lanes_, cols_ - x);
      if (flat_) y = x / walk_.in_row, x %= walk_.in_row;
      for (int64_t i = 0; i < count; ++i, ++x) {
        if (x == walk_.in_row) x = 0, ++y;
        if (x >= walk_.cols) continue;
        store(channel + y * walk_.out_y + x * walk_.out_x, from[i], p_.out.write);
      }
    }
  }

  const ConvPass& p_;
  const ConvWalk& walk_;
  const Tiles& tiles_;
  int64_t lanes_;
  int64_t cols_ = 0;     // of the rows that vectors are cut from
  int64_t vectors_ = 0;  // of one channel
  bool flat_ = false;
  bool direct_ = false;
  const T* packed_ = nullptr;
};

template <class T>
void run(const ConvPass& pass, const std::vector<ConvWalk>& walks) {
  const int64_t images = pass.out.view.shape[0];
  if (numel(pass.out.view.shape) == 0) return;
  const Tiles tiles(pass.channels, conv_tile_shape<T>().rows);
  std::vector<Runner<T>> runners;
  int64_t packed_size = 0;
  for (const ConvWalk& walk : walks) {
    packed_size += runners.emplace_back(pass, walk, tiles).packed_size();
  }
  const int64_t frame_size = pass.frame.size();
  const int64_t block = conv_block(images, frame_size * static_cast<int64_t>(sizeof(T)));
  const int64_t starts = pass.groups * tiles.padded(), lanes = conv_tile_shape<T>().lanes;
  const Workspace workspace(static_cast<size_t>(packed_size + starts + block * frame_size + lanes) *
                            sizeof(T));
  T* const start = workspace.as<T>();
  T* const frames = start + starts;
  T* packed = frames + block * frame_size + lanes;
  std::fill_n(packed - lanes, lanes, T(0));
  for (Runner<T>& runner : runners) {
    runner.pack_weights(packed);
    packed += runner.packed_size();
  }
  std::fill_n(start, starts, T(0));
  if (pass.bias.data) {
    visit_float(pass.bias.dtype, [&]<class In>() {
      for (int64_t i = 0; i < pass.groups * pass.channels; ++i) {
        start[i / pass.channels * tiles.padded() + i % pass.channels] =
            static_cast<T>(static_cast<const In*>(pass.bias.data)[i * pass.bias.strides[0]]);
      }
    });
  }
  for (int64_t first = 0; first < images; first += block) {
    const int64_t n = std::min(block, images - first);
    const int64_t channels = pass.frame.channels;
    parallel_for(n * channels,
                 ceil_div(kConvWorthAThread / 8, std::max<int64_t>(1, pass.frame.plane())),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t c = i % channels;
                     fill_frame(pass.in, first + i / channels, c, c + 1, pass.frame,
                                frames + i / channels * frame_size);
                   }
                 });
    for (size_t k = 0; k < runners.size(); ++k) {
      const Runner<T>& runner = runners[k];
      const int64_t units = n * pass.groups * tiles.count, vectors = runner.vectors();
      const int64_t chunks =
          std::max(ceil_div(vectors, 128),
                   std::min(ceil_div(vectors, 2), int64_t{4} * num_threads() / units));
      const int64_t work = std::max<int64_t>(1, pass.channels * pass.groups * n * vectors * lanes *
                                                    static_cast<int64_t>(walks[k].taps.size() + 4) /
                                                    (units * chunks));
      parallel_for(units * chunks, ceil_div(kConvWorthAThread, work),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const int64_t chunk = i % chunks, tile = i / chunks % tiles.count;
                       const int64_t group = i / (chunks * tiles.count) % pass.groups;
                       const int64_t image = i / (chunks * tiles.count * pass.groups);
                       runner.run(frames + image * frame_size, start, first + image, group, tile,
                                  vectors * chunk / chunks, vectors * (chunk + 1) / chunks);
                     }
                   });
    }
  }
}

}  // namespace

void run_conv(const ConvPass& pass, const std::vector<ConvWalk>& walks) {
  const bool wide = pass.in.dtype == DType::float64;
  wide ? run<double>(pass, walks) : run<float>(pass, walks);
}

}  // namespace accrue::kernels::cpu
