#include <algorithm>

#include <accrue/kernels/trace.h>

namespace accrue::kernels {
namespace {

/// Bytes of the different elements of a view: what is broadcast with stride 0 counts once.
int64_t bytes_of(const Dims& shape, const Dims& strides, DType dtype) {
  auto bytes = static_cast<int64_t>(size_of(dtype));
  for (int d = 0; d < shape.size(); ++d)
    bytes *= strides[d] == 0 ? std::min<int64_t>(shape[d], 1) : shape[d];
  return bytes;
}

}  // namespace

thread_local Trace* Trace::current = nullptr;

void Trace::note(Call& call, const ConstView& read) {
  if (read.data) call.bytes += bytes_of(read.shape, read.strides, read.dtype);
}

void Trace::note(Call& call, const Dest& dest) {
  if (!dest.wanted()) return;
  call.writes.push_back(dest.write);
  call.bytes += bytes_of(dest.view.shape, dest.view.strides, dest.view.dtype) *
                (dest.write == Write::add ? 2 : 1);
}

std::vector<std::string> Trace::names() const {
  std::vector<std::string> out;
  for (const Call& call : calls_) out.push_back(call.kernel);
  return out;
}

int64_t Trace::count(const std::string& kernel) const {
  return std::count_if(calls_.begin(), calls_.end(),
                       [&](const Call& call) { return call.kernel == kernel; });
}

int64_t Trace::bytes() const {
  int64_t total = 0;
  for (const Call& call : calls_) total += call.bytes;
  return total;
}

}  // namespace accrue::kernels
