// metrics.jsonl: what a run measured, one JSON object a line. Its name appears when the run ends;
// until then, and after an interrupted run, the lines are in metrics.jsonl.part.
#pragma once
#include <string>

#include <accrue/io/line_file.h>

namespace accrue::tools {

struct TrainOptions;

struct EpochResult {
  int64_t epoch = 0;
  int64_t steps = 0;  ///< optimizer steps so far
  double train_loss = 0, train_accuracy = 0, test_loss = 0, test_accuracy = 0;
  double seconds = 0;  ///< since the run began
};

struct RunResult {
  double test_accuracy = 0;  ///< 0 to 1
  double seconds = 0;
  double samples_per_s = 0;  ///< training samples over the time spent training
  int64_t peak_bytes = 0;
  int64_t steps = 0;
};

class MetricsFile {
 public:
  /// Throws FileError if it cannot be created in `folder`, which is made.
  explicit MetricsFile(const std::string& folder);
  void start(const TrainOptions& options);
  void epoch(const EpochResult& result);
  /// The last line; the file takes its name.
  void end(const RunResult& result);
  const std::string& provisional_path() const { return file_.provisional_path(); }
  const std::string& path() const { return file_.path(); }

 private:
  io::LineFile file_;
};

}  // namespace accrue::tools
