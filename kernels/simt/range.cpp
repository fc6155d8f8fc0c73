#include <functional>
#include <string>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/range.h>
#include <accrue/kernels/simt/report.h>

namespace accrue::simt {
namespace {

uint64_t place_of(const Range& range) {
  return std::hash<std::string>{}(join(range.call, range.role));
}

}  // namespace

bool check_range(const Range& range, bool everywhere) {
  const size_t offset = Arena::offset(range.begin);
  if (offset >= kArenaSpan) {
    if (first_time(Fault::host_pointer, place_of(range))) {
      Finding(Fault::host_pointer, join(range.call, ": the ", range.role, " is no device memory"))
          .line("begins", describe_address(range.begin))
          .report("an address that cudaMalloc gave");
    }
    fail_device(range.device, cudaErrorIllegalAddress);
    return false;
  }
  const Allocation* allocation = Arena::allocation(offset);
  if (const ByteState* bad = Arena::find(offset, range.bytes, ByteState::none)) {
    const auto byte = static_cast<size_t>(bad - Arena::states(0));
    const bool freed = allocation && allocation->life == Life::freed && allocation->holds(byte);
    const Fault fault = freed ? Fault::use_after_free : Fault::out_of_bounds;
    if (first_time(fault, place_of(range))) {
      Finding(fault, join(range.call, ": the ", range.role, " of ", range.bytes, " bytes ",
                          freed ? "was freed" : "ends outside its allocation"))
          .line("begins", describe_address(range.begin))
          .line("bad from", describe_address(Arena::address(byte)))
          .report("as many bytes as the allocation has");
    }
    fail_device(range.device, cudaErrorIllegalAddress);
    return false;
  }
  const bool reachable = everywhere || allocation->device == range.device ||
                         executor().device(range.device).can_reach[allocation->device];
  if (!reachable && first_time(Fault::wrong_device, place_of(range))) {
    Finding(Fault::wrong_device, join(range.call, " on device ", range.device, ": the ", range.role,
                                      " is of device ", allocation->device))
        .line("memory", describe_address(range.begin))
        .report("cudaMemcpyPeer, or the stream of the other device");
  }
  if (!reachable) fail_device(range.device, cudaErrorIllegalAddress);
  return reachable;
}

bool check_written(const Range& range) {
  const size_t offset = Arena::offset(range.begin);
  const ByteState* unset = Arena::find(offset, range.bytes, ByteState::unset);
  if (!unset) return true;
  if (first_time(Fault::uninitialised, place_of(range), Arena::allocation(offset)->begin)) {
    Finding(Fault::uninitialised, join(range.call, " reads ", range.bytes, " bytes of the ",
                                       range.role, ", some never written"))
        .line("first",
              describe_address(Arena::address(static_cast<size_t>(unset - Arena::states(0)))))
        .report("a value for every element before it is read; a fresh result is not zero");
  }
  return false;
}

}  // namespace accrue::simt
