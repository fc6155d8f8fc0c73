#include <algorithm>
#include <string>

#include <accrue/kernels/simt/access.h>
#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/grid.h>
#include <accrue/kernels/simt/memory.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/source_line.h>

namespace accrue::simt {
namespace {

uint64_t key_of(const Access& access) { return reinterpret_cast<uint64_t>(access.pc); }

std::string verb_of(const Access& access) {
  return join(access.kind == Kind::read    ? "reads "
              : access.kind == Kind::write ? "writes "
                                           : "changes ",
              access.bytes, access.bytes == 1 ? " byte" : " bytes");
}

Finding finding_of(Fault fault, const std::string& headline, const Access& access) {
  Finding finding(fault, headline);
  finding.kernel().thread().line("memory", describe_address(access.pointer));
  finding.line("at", source_line(key_of(access)));
  return finding;
}

void report_host_access(const Access& access) {
  if (!first_time(Fault::device_pointer, key_of(access))) return;
  finding_of(Fault::device_pointer, "host code " + verb_of(access), access)
      .report("cudaMemcpy to the host first");
}

// A kernel's own variables, its arguments and its constants.
bool is_private(const Access& access) {
  const Grid& grid = running->grid();
  if (running->current().fiber->has_on_stack(access.pointer)) return true;
  return access.kind == Kind::read &&
         (grid.has_argument(access.pointer) || grid.image().has_constant(access.pointer));
}

void check_address(const Access& access, size_t offset) {
  const ByteState* bad = Arena::find(offset, access.bytes, ByteState::none);
  if (!bad) return;
  const Allocation* allocation = Arena::allocation(offset);
  const bool shared = allocation && allocation->is_shared();
  const auto byte = static_cast<size_t>(bad - Arena::states(0));
  const bool freed = allocation && allocation->life == Life::freed && allocation->holds(byte);
  const Fault fault = freed ? Fault::use_after_free : Fault::out_of_bounds;
  if (first_time(fault, key_of(access))) {
    Access first_bad = access;
    first_bad.pointer = Arena::address(byte);
    finding_of(fault, join(verb_of(access), " of ", shared ? "shared" : "global", " memory"),
               first_bad)
        .report(freed ? "free after the last kernel that uses it, in the order of its stream"
                      : "a predicate on the index, such as i < n");
  }
  running->kill(cudaErrorIllegalAddress);
}

void check_device(const Access& access, const Allocation& allocation) {
  const int here = running->grid().device();
  if (allocation.is_shared() || allocation.device == here) return;
  if (executor().device(here).can_reach[allocation.device]) return;
  if (first_time(Fault::wrong_device, key_of(access))) {
    finding_of(
        Fault::wrong_device,
        join("a kernel on device ", here, " ", verb_of(access), " of device ", allocation.device),
        access)
        .report("a copy on its own device, or cudaDeviceEnablePeerAccess");
  }
  running->kill(cudaErrorIllegalAddress);
}

void check_states(const Access& access, size_t offset, const Allocation& allocation) {
  if (!Arena::find(offset, access.bytes, ByteState::unset)) return;
  if (access.kind != Kind::write && first_time(Fault::uninitialised, key_of(access))) {
    finding_of(Fault::uninitialised,
               join(verb_of(access), " of ", allocation.is_shared() ? "shared" : "global",
                    " memory that nobody has written"),
               access)
        .report("a value for every element before it is read; a fresh result is not zero");
  }
  if (access.kind != Kind::read) Arena::set_states(offset, access.bytes, ByteState::set);
}

}  // namespace

void check_access(const Access& access) {
  const size_t offset = Arena::offset(access.pointer);
  if (!running) {
    if (offset < kArenaSpan) report_host_access(access);
    return;
  }
  if (offset >= kArenaSpan) {
    if (is_private(access)) return;
    if (first_time(Fault::host_pointer, key_of(access))) {
      finding_of(Fault::host_pointer, "a kernel " + verb_of(access) + " outside device memory",
                 access)
          .report("an address that cudaMalloc gave");
    }
    running->kill(cudaErrorIllegalAddress);
  }
  const bool written = Arena::surely_set(offset, access.bytes);
  if (!written) check_address(access, offset);
  Allocation& allocation = *Arena::allocation(offset);
  check_device(access, allocation);
  if (!written) check_states(access, offset, allocation);
  check_races(allocation, offset - allocation.begin, access);
  running->count_access();
}

void check_aligned_access(const Access& access) {
  const auto remainder = reinterpret_cast<uintptr_t>(access.pointer) & (access.bytes - 1);
  if (running && remainder != 0) {
    report_misaligned(access.pointer, access.bytes, verb_of(access), source_line(key_of(access)),
                      key_of(access));
    running->kill(cudaErrorMisalignedAddress);
  }
  check_access(access);
}

void report_misaligned(const void* pointer, size_t alignment, const std::string& what,
                       const std::string& where, uint64_t key) {
  if (first_time(Fault::misaligned, key)) {
    Finding(Fault::misaligned, join(what, " at an address that is no multiple of ", alignment))
        .kernel()
        .thread()
        .line("memory", describe_address(pointer))
        .line("at", where)
        .report("narrow accesses unless address and length are multiples of the vector's size");
  }
}

void check_atomic(const void* pointer, size_t bytes, const void* pc) {
  check_aligned_access({pointer, bytes, Kind::atomic, pc});
}

}  // namespace accrue::simt
