// The inner loops of the convolution, one image at a time, on the calling thread: what conv.cpp and
// conv_weight.cpp hand to the code of the processor's instruction set (conv_tile-inl.h).
//
// Images lie in frames (conv_frame.h), where a tap of the kernel is a distance in memory and
// neighbouring outputs read neighbouring inputs. So nothing is unrolled into columns.
#pragma once
#include <cstdint>

namespace accrue::kernels::cpu {

// out[r, y, x] = start[r] + Σ_p w[p, r] · in[y·in_row + x + taps[p]], one chain in order of p, for
// some rows r and the vectors [begin, end) of the image: vector j is row j / n, columns from
// j % n · lanes, n being the vectors of a row. Whole vectors are read.
template <class T>
struct ConvSweep {
  int64_t taps_count = 0;
  const int64_t* taps = nullptr;
  const T* w = nullptr;      // w[p * rows + r]
  const T* start = nullptr;  // of each row
  int64_t rows = 0;          // even; the last may be there for company only
  int64_t rows_written = 0;
  const T* in = nullptr;
  int64_t cols = 0, in_row = 0;
  int64_t begin = 0, end = 0;
  T* out = nullptr;  // out[r * out_channel + y * out_row + x]
  int64_t out_channel = 0, out_row = 0;
  bool whole_vectors = false;  // out has room for them
  bool add = false;            // the old content is added to the finished chain
};

// sum[r, o] += Σ_{y, x} in[y·in_row + x + taps[r]] · dy[(y·cols + x), o], one chain in that order
// from the old sum, for some taps r and one or two vectors of output channels o.
template <class T>
struct ConvWeightSweep {
  const int64_t* taps = nullptr;
  int64_t rows = 0;  // taps; even
  const T* in = nullptr;
  int64_t out_rows = 0, cols = 0, in_row = 0;
  const T* dy = nullptr;
  int64_t dy_row = 0;
  T* sum = nullptr;
  int64_t sum_row = 0;
  int64_t vectors = 0;
};

// How many rows and lanes a register tile has; a sweep has at most that many rows.
struct ConvTileShape {
  int64_t rows;
  int64_t lanes;
  int64_t vectors;
};
template <class T>
ConvTileShape conv_tile_shape();

void run_sweep(const ConvSweep<float>& sweep);
void run_sweep(const ConvSweep<double>& sweep);
void run_sweep(const ConvWeightSweep<float>& sweep);
void run_sweep(const ConvWeightSweep<double>& sweep);

// to[j * to_row + r] = from[r * from_row + j] for r < rows, j < columns. In rows of `to` that are
// whole vectors, lanes behind the last may be spoiled, too.
void run_transpose(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                   int64_t to_row);
void run_transpose(const double* from, int64_t from_row, int64_t rows, int64_t columns, double* to,
                   int64_t to_row);

}  // namespace accrue::kernels::cpu
