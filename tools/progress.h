// The progress line of a training run: rewritten in place on a terminal, one line for each tenth of
// an epoch elsewhere.
#pragma once
#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace accrue::tools {

struct Progress {
  int64_t epoch = 1, epochs = 1;
  int64_t done = 0, total = 0;  ///< samples of this epoch
  double loss = 0;              ///< mean over this epoch so far
  double accuracy = 0;          ///< on the training samples of this epoch so far
  double samples_per_s = 0;
  int64_t peak_bytes = 0;
};

class ProgressLine {
 public:
  ProgressLine(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}
  /// Ends a line that stands open, so that what follows starts its own.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Called often; prints when there is something new to see.
  void show(const Progress& p);
  /// Prints a line of its own, and starts the next epoch's progress after it.
  void line(const std::string& text);

 private:
  std::ostream& out_;
  bool terminal_;
  bool open_ = false;  // a rewritable line is on the terminal
  int64_t tenths_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

/// "1.2 MB", "850 B": powers of 1000.
std::string human_bytes(int64_t bytes);

}  // namespace accrue::tools
