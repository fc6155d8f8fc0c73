#include "tools/progress.h"

#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace accrue::tools {
namespace {

constexpr auto kRefresh = std::chrono::milliseconds(100);
constexpr int64_t kLines = 10;

std::string text_of(const Progress& p) {
  std::ostringstream out;
  out << "epoch " << p.epoch << "/" << p.epochs << " " << std::setw(3) << 100 * p.done / p.total
      << "%  loss " << std::fixed << std::setprecision(4) << p.loss << "  acc "
      << std::setprecision(1) << 100 * p.accuracy << "%  " << std::setprecision(0)
      << p.samples_per_s << " samples/s  peak " << human_bytes(p.peak_bytes);
  if (p.samples_per_s > 0) {
    const auto left = static_cast<double>(p.total * (p.epochs - p.epoch + 1) - p.done);
    out << "  ETA " << std::lround(left / p.samples_per_s) << " s";
  }
  return out.str();
}

}  // namespace

ProgressLine::~ProgressLine() {
  if (open_) out_ << std::endl;
}

void ProgressLine::show(const Progress& p) {
  if (p.total == 0) return;
  if (terminal_) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kRefresh && p.done < p.total) return;
    last_ = now;
    out_ << "\r\x1b[K" << text_of(p) << std::flush;
    open_ = true;
    return;
  }
  const int64_t tenths = kLines * p.done / p.total;
  if (tenths == tenths_) return;
  tenths_ = tenths;
  out_ << text_of(p) << std::endl;
}

void ProgressLine::line(const std::string& text) {
  if (open_) out_ << '\n';
  open_ = false;
  tenths_ = 0;
  out_ << text << std::endl;
}

std::string human_bytes(int64_t bytes) {
  constexpr std::array units = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1000;
  std::ostringstream out;
  out << std::fixed << std::setprecision(unit == 0 ? 0 : 1) << value << " " << units[unit];
  return out.str();
}

}  // namespace accrue::tools
