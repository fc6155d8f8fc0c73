#include <cstdio>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/grid.h>
#include <accrue/kernels/simt/report.h>

namespace accrue::simt {
namespace {

constexpr size_t kMostReports = 50;  // of one test; the first ones are those to read

struct Log {
  std::vector<Report> reports;
  std::set<std::tuple<Fault, uint64_t, uint64_t>> seen;
  bool echo = true;
};
Log& log() {
  static auto* const instance = new Log;
  return *instance;
}

}  // namespace

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::race:
      return "data race";
    case Fault::out_of_bounds:
      return "out of bounds";
    case Fault::use_after_free:
      return "use after free";
    case Fault::uninitialised:
      return "uninitialised read";
    case Fault::misaligned:
      return "misaligned access";
    case Fault::barrier:
      return "barrier divergence";
    case Fault::warp:
      return "invalid warp operation";
    case Fault::deadlock:
      return "deadlock";
    case Fault::host_pointer:
      return "host pointer in a kernel";
    case Fault::device_pointer:
      return "device pointer in host code";
    case Fault::wrong_device:
      return "wrong device";
    case Fault::bad_launch:
      return "invalid launch";
    case Fault::overlap:
      return "overlapping Restrict arguments";
    case Fault::bad_call:
      return "invalid call";
    case Fault::arithmetic:
      return "undefined arithmetic";
  }
  return "fault";
}

std::string text_of(const Site& site) {
  const char* slash = std::strrchr(site.file, '/');
  return join(slash ? slash + 1 : site.file, ":", site.line);
}
std::string text_of(const dim3& size) { return join("(", size.x, ",", size.y, ",", size.z, ")"); }
std::string text_of(const uint3& index) {
  return join("(", index.x, ",", index.y, ",", index.z, ")");
}

uint64_t hash(const Site& site) { return std::hash<std::string>{}(site.file) * 31 + site.line; }

bool first_time(Fault fault, uint64_t a, uint64_t b) {
  const Entered entered;
  Log& all = log();
  return all.reports.size() < kMostReports && all.seen.emplace(fault, a, b).second;
}

Finding::Finding(Fault fault, const std::string& headline)
    : fault_(fault), text_(join(name_of(fault), ": ", headline, "\n")) {}

Finding& Finding::line(const std::string& label, const std::string& text) {
  text_ += "  " + label + std::string(label.size() < 9 ? 9 - label.size() : 1, ' ') + text + "\n";
  return *this;
}

Finding& Finding::kernel() {
  if (!running) return *this;
  const Launch& launch = running->launch();
  return line("kernel", join(kernel_name(launch), " <<<", text_of(launch.grid), ", ",
                             text_of(launch.block), ", ", launch.shared_bytes, ">>> from ",
                             text_of(Site{launch.kernel.file, launch.kernel.line})));
}

Finding& Finding::thread() {
  if (!running) return *this;
  return line("thread", running->describe(running->current()));
}

void Finding::report(const std::string& what_would_be_right) {
  const Entered entered;
  if (!what_would_be_right.empty()) line("right", what_would_be_right);
  if (log().echo) std::fputs(join("simt: ", text_).c_str(), stderr);
  log().reports.push_back({fault_, std::move(text_)});
}

std::vector<Report> take_reports() {
  const Entered entered;
  log().seen.clear();
  return std::exchange(log().reports, {});
}

void set_echo(bool echo) {
  const Entered entered;
  log().echo = echo;
}

}  // namespace accrue::simt
