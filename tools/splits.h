// `accrue splits`: one global batch cut into N micro-batches, N = 1, 2, 4, ...: what it costs, what
// it saves, and how far the gradients move: not at all.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace accrue::tools {

struct SplitOptions {
  std::string model = "mlp";
  int64_t batch = 128;
  std::vector<int64_t> counts = {1, 2, 4, 8, 16};
  double seconds = 1;  ///< measured for each row
  uint64_t seed = 1;
  int threads = 0;  ///< 0: as many as cores
  std::string device = "cpu";
  bool split_invariant = false;  ///< on a CUDA device too, see kernels/split_invariant.h
};

struct SplitRow {
  int64_t count = 0;         ///< micro-batches
  int64_t micro_batch = 0;   ///< samples in each
  double samples_per_s = 0;  ///< of whole steps, optimizer included; a median
  int64_t peak_bytes = 0;
  double largest_difference = 0;  ///< of any element of any gradient from the first row's
  bool identical = false;         ///< every gradient equals the first row's bit for bit
};

/// One training step on the first `batch` images for each count. Throws ValueError unless every
/// count divides the batch, DeviceError, FileError.
std::vector<SplitRow> measure_splits(const SplitOptions& options);
void print_splits(const SplitOptions& options, const std::vector<SplitRow>& rows,
                  std::ostream& out);

}  // namespace accrue::tools
