// `accrue train`: trains a model on images with gradient accumulation.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

#include "tools/metrics.h"

#include <accrue/optim/optimizer.h>

namespace accrue::nn {
class Module;
}

namespace accrue::tools {

struct TrainOptions {
  std::string data = "fashion-mnist";
  std::string model = "mlp";
  int64_t micro_batch = 32;
  int64_t accumulate = 4;
  int64_t epochs = 3;
  std::string optimizer = "adamw";
  double lr = 1e-3;
  uint64_t seed = 1;
  int threads = 0;  ///< 0: as many as cores
  std::string device = "cpu";
  std::string out;    ///< folder for metrics.jsonl; none if empty
  int64_t limit = 0;  ///< the first images only; 0: all
};

/// Ctrl-C, between two micro-batches.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// That many threads from now on; 0 leaves it at one for each core. Throws ValueError.
void use_threads(int threads);

/// "sgd" (momentum 0.9), "adam" or "adamw". Throws ValueError for other names and a bad lr.
std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, nn::Module& model,
                                                 double lr);

/// Trains and tests; prints to `out`, rewriting a line if `terminal`. The gradient of a window is
/// the sum over its samples, divided once, by the number of them, inside the optimizer's step: so a
/// last, smaller window is weighted rightly (rules W2, W4).
/// Throws ValueError for bad options, DeviceError, FileError, Interrupted.
RunResult train(const TrainOptions& options, std::ostream& out, bool terminal);

}  // namespace accrue::tools
