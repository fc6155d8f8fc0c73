// The convolution and its gradient for x: both are walks over frames. For dx the walk is over dy,
// once for each remainder of the position in x by the stride: the taps that reach it are those of
// the same remainder.
#include <algorithm>

#include <accrue/core/workspace.h>

#include <accrue/kernels/cpu/conv_frame.h>
#include <accrue/kernels/cpu/conv_tile.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/scratch.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cpu {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Results at (y, x), 0 <= y < rows, 0 <= x < cols: element (y, x) reads the frame at
// y · in_row + x + tap, and goes to out + y · out_y + x · out_x of the result.
struct Walk {
  std::vector<int64_t> taps;     // where each is read
  std::vector<int64_t> weights;  // and its weight, in elements from that of its channel
  int64_t rows = 0, cols = 0, in_row = 0;
  int64_t out = 0, out_y = 0, out_x = 0;
};

struct Pass {
  ConstView in;
  ConvFrame frame;
  int64_t groups, channels;  // channels of the result in one group
  ConstView w;
  int64_t w_group, w_channel;  // from one group, one channel of the result, to the next
  ConstView bias;
  Dest out;
};

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
  Runner(const Pass& pass, const Walk& walk, const Tiles& tiles)
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

  const Pass& p_;
  const Walk& walk_;
  const Tiles& tiles_;
  int64_t lanes_;
  int64_t cols_ = 0;     // of the rows that vectors are cut from
  int64_t vectors_ = 0;  // of one channel
  bool flat_ = false;
  bool direct_ = false;
  const T* packed_ = nullptr;
};

// The images of a block are laid out first and then walked over, so that threads share the work
// also where there is one image only. Every result is one chain: how work is cut does not show.
template <class T>
void run(const Pass& pass, const std::vector<Walk>& walks) {
  const int64_t images = pass.out.view.shape[0];
  if (numel(pass.out.view.shape) == 0) return;
  const Tiles tiles(pass.channels, conv_tile_shape<T>().rows);
  std::vector<Runner<T>> runners;
  int64_t packed_size = 0;
  for (const Walk& walk : walks) {
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

void run(const Pass& pass, const std::vector<Walk>& walks) {
  const bool wide = pass.in.dtype == DType::float64;
  wide ? run<double>(pass, walks) : run<float>(pass, walks);
}

// One remainder of the position in x by the stride, in one direction: position rest + t · stride is
// reached through tap `at` from y at t + shift.
struct Reach {
  int64_t at, shift;
};
std::vector<Reach> reach_of(const ConvAxis& a, int64_t rest) {
  std::vector<Reach> taps;
  for (int64_t at = 0; at < a.kernel; ++at) {
    const int64_t distance = rest + a.padding - at * a.dilation;
    if (distance % a.stride == 0) taps.push_back({at, distance / a.stride});
  }
  return taps;
}

}  // namespace

void conv2d(const ConstView& x, const ConstView& w, const ConstView& bias, const ConvParams& p,
            const Dest& y) {
  const ConvShape s = conv_shape(x.shape, w.shape, p);
  if (numel(y.view.shape) == 0) return;
  const ConvFrame frame = frame_of_x(s);
  Walk walk;
  walk.taps = taps_of_x(s, frame);
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t i = 0; i < s.kernel_size(); ++i) {
      walk.weights.push_back(c * w.strides[1] + i / s.x.kernel * w.strides[2] +
                             i % s.x.kernel * w.strides[3]);
    }
  }
  walk.rows = s.y.out, walk.cols = s.x.out, walk.in_row = s.y.stride * frame.row();
  walk.out_y = y.view.strides[2], walk.out_x = y.view.strides[3];
  run({x, frame, s.groups, s.out_channels, w, s.out_channels * w.strides[0], w.strides[0], bias, y},
      {walk});
}

void conv2d_grad_x(const ConstView& dy, const ConstView& w, const ConvParams& p, const Dest& dx) {
  const View& to = dx.view;
  if (numel(to.shape) == 0) return;
  const ConvShape s = conv_shape(to.shape, w.shape, p);
  // The frame reaches as far around dy as any tap needs.
  const auto margins = [](const ConvAxis& a) {
    int64_t before = 0, after = 0;
    for (int64_t rest = 0; rest < std::min(a.stride, a.in); ++rest) {
      const int64_t last = (a.in - 1 - rest) / a.stride;
      for (const Reach& tap : reach_of(a, rest)) {
        before = std::max(before, -tap.shift);
        after = std::max(after, last + tap.shift - (a.out - 1));
      }
    }
    return std::pair(before, after);
  };
  const auto [above, below] = margins(s.y);
  const auto [left, right] = margins(s.x);
  const ConvFrame frame{.channels = s.groups * s.out_channels,
                        .rows = above + s.y.out + below,
                        .phases = 1,
                        .width = left + s.x.out + right,
                        .first_row = -above,
                        .first_col = -left};
  std::vector<Walk> walks;
  for (int64_t i = 0; i < std::min(s.y.stride, s.y.in); ++i) {
    for (int64_t j = 0; j < std::min(s.x.stride, s.x.in); ++j) {
      Walk& walk = walks.emplace_back();
      const std::vector<Reach> ys = reach_of(s.y, i), xs = reach_of(s.x, j);
      for (int64_t o = 0; o < s.out_channels; ++o) {
        for (const Reach& a : ys) {
          for (const Reach& b : xs) {
            walk.taps.push_back(o * frame.plane() + (a.shift + above) * frame.row() + b.shift +
                                left);
            walk.weights.push_back(o * w.strides[0] + a.at * w.strides[2] + b.at * w.strides[3]);
          }
        }
      }
      walk.rows = ceil_div(s.y.in - i, s.y.stride), walk.cols = ceil_div(s.x.in - j, s.x.stride);
      walk.in_row = frame.row();
      walk.out = i * to.strides[2] + j * to.strides[3];
      walk.out_y = s.y.stride * to.strides[2], walk.out_x = s.x.stride * to.strides[3];
    }
  }
  run({dy, frame, s.groups, s.in_channels, w, s.out_channels * w.strides[0], w.strides[1],
       ConstView{}, dx},
      walks);
}

}  // namespace accrue::kernels::cpu
