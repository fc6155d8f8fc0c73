#include "tools/metrics.h"

#include "tools/train.h"
#include <nlohmann/json.hpp>

namespace accrue::tools {
namespace {

std::string in_folder(const std::string& folder) {
  io::make_folder(folder);
  return folder + "/metrics.jsonl";
}

}  // namespace

using Json = nlohmann::ordered_json;

MetricsFile::MetricsFile(const std::string& folder) : file_(in_folder(folder)) {}

void MetricsFile::start(const TrainOptions& o) {
  file_.append(Json{
      {"event", "start"},
      {"data", o.data},
      {"model", o.model},
      {"micro_batch", o.micro_batch},
      {"accumulate", o.accumulate},
      {"epochs", o.epochs},
      {"optimizer", o.optimizer},
      {"lr", o.lr},
      {"seed", o.seed},
      {"threads", o.threads},
      {"device", o.device},
      {"limit",
       o.limit}}.dump());
}

void MetricsFile::epoch(const EpochResult& r) {
  file_.append(Json{
      {"event", "epoch"},
      {"epoch", r.epoch},
      {"steps", r.steps},
      {"train_loss", r.train_loss},
      {"train_accuracy", r.train_accuracy},
      {"test_loss", r.test_loss},
      {"test_accuracy", r.test_accuracy},
      {"seconds",
       r.seconds}}.dump());
}

void MetricsFile::end(const RunResult& r) {
  file_.append(Json{
      {"event", "end"},
      {"test_accuracy", r.test_accuracy},
      {"seconds", r.seconds},
      {"samples_per_s", r.samples_per_s},
      {"peak_bytes", r.peak_bytes},
      {"steps",
       r.steps}}.dump());
  file_.finish();
}

}  // namespace accrue::tools
