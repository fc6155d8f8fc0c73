#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <accrue/autograd/anomaly.h>
#include <accrue/autograd/node.h>

namespace accrue {
namespace {

thread_local bool enabled = false;

/// The index of the first element that is NaN or infinite.
std::optional<Dims> first_bad(const Tensor& x) {
  if (!x.defined() || !is_floating(x.dtype())) return std::nullopt;
  const std::vector<double> values = x.to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    Dims index = Dims::filled(x.dim(), 0);
    auto rest = static_cast<int64_t>(i);
    for (int d = x.dim() - 1; d >= 0; --d) {
      index[d] = rest % x.shape()[d];
      rest /= x.shape()[d];
    }
    return index;
  }
  return std::nullopt;
}

std::string describe(const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info)) return "?";
  if (!info.dli_sname) {
    const std::string file = info.dli_fname ? info.dli_fname : "?";
    const auto offset =
        static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase);
    std::ostringstream place;
    place << file.substr(file.rfind('/') + 1) << "+0x" << std::hex << offset;
    return place.str();
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : info.dli_sname;
}

/// The innermost callers outside this library's own functions, innermost first.
std::string call_site() {
  constexpr int most = 32;
  constexpr int shown = 3;
  std::array<void*, most> frames{};
  const int n = backtrace(frames.data(), most);
  std::string text;
  int found = 0;
  for (int i = 1; i < n && found < shown; ++i) {
    const std::string frame = describe(frames[static_cast<size_t>(i)]);
    const bool ours = frame.find("accrue::detail::") != std::string::npos ||
                      frame.find("accrue::apply") != std::string::npos;
    if (ours) continue;
    text += (found++ ? " < " : "") + frame;
  }
  return text;
}

}  // namespace

bool anomaly_enabled() { return enabled; }
AnomalyMode::AnomalyMode(bool on) : before_(enabled) { enabled = on; }
AnomalyMode::~AnomalyMode() { enabled = before_; }

void detail::note_site(Node& node) { node.site = std::make_unique<std::string>(call_site()); }

void detail::check_forward(const char* op, const Tensor& y, std::span<const Tensor> inputs) {
  for (const Tensor& x : inputs)
    if (first_bad(x)) return;  // it was there before
  if (const auto index = first_bad(y))
    fail<AutogradError>(op, ": the result, shape ", y.shape(), ", has ", y.at(*index), " at ",
                        *index, " though all inputs are finite; called from ", call_site());
}

std::vector<bool> detail::are_bad(std::span<const Tensor> gradients) {
  std::vector<bool> bad;
  for (const Tensor& g : gradients) bad.push_back(first_bad(g).has_value());
  return bad;
}

void detail::check_backward(const Node& node, const Tensor& dy, std::span<const Tensor> dx) {
  if (first_bad(dy)) return;
  for (size_t i = 0; i < dx.size(); ++i)
    if (const auto index = first_bad(dx[i]))
      fail<AutogradError>(node.name(), ": backward made ", dx[i].at(*index), " at ", *index,
                          " of the gradient of input ", i, ", shape ", dx[i].shape(),
                          ", from a finite gradient of the output, shape ", dy.shape(),
                          "; the operator was called from ",
                          node.site ? *node.site : "a place noted only in anomaly mode");
}

}  // namespace accrue
