// From LAUNCH to a task on a stream. A configuration that CUDA refuses is reported and not run.
#include <map>
#include <memory>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/grid.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/shared.h>
#include <accrue/kernels/simt/stream.h>

namespace accrue::simt {
namespace {

std::map<const void*, size_t>& dynamic_limits() {
  static auto* const limits = new std::map<const void*, size_t>;
  return *limits;
}
size_t dynamic_limit(const void* kernel) {
  const auto found = dynamic_limits().find(kernel);
  return found == dynamic_limits().end() ? kStaticSharedLimit : found->second;
}

// What is wrong with the configuration, and what would be right; empty if nothing is.
struct Objection {
  std::string what, right;
};
Objection object_to(const Launch& launch) {
  const dim3 g = launch.grid, b = launch.block;
  const size_t threads = size_t{b.x} * b.y * b.z;
  if (size_t{g.x} * g.y * g.z == 0) {
    return {"the grid " + text_of(g) + " is empty", "no launch at all for no elements"};
  }
  if (threads == 0) return {"the block " + text_of(b) + " is empty", "at least one thread"};
  if (threads > 1024 || b.z > 64) {
    return {join("a block ", text_of(b), " of ", threads, " threads"),
            "at most 1024 threads, and 64 along z"};
  }
  if (g.x > 0x7fffffffU || g.y > 65535 || g.z > 65535) {
    return {"the grid " + text_of(g), "at most 65535 along y and z: the long side goes along x"};
  }
  const size_t limit = dynamic_limit(launch.function);
  if (launch.shared_bytes > limit) {
    return {join(launch.shared_bytes, " bytes of dynamic shared memory"),
            join("at most ", limit, " bytes; cudaFuncSetAttribute allows ", kDynamicSharedLimit)};
  }
  return {};
}

Finding finding_of(Fault fault, const Launch& launch, const std::string& what) {
  Finding finding(fault, kernel_name(launch) + ": " + what);
  finding.line("at", text_of(Site{launch.kernel.file, launch.kernel.line}));
  return finding;
}

// Two Restrict parameters that are one address, one of them written: the compiler of the device
// may read before or after the write as it likes.
void check_overlap(const Launch& launch) {
  for (const PointerArgument& a : launch.pointers) {
    for (const PointerArgument& b : launch.pointers) {
      if (a.position >= b.position || a.pointer != b.pointer || !a.pointer) continue;
      if (!a.restricted || !b.restricted || !(a.writes || b.writes)) continue;
      const Site site{launch.kernel.file, launch.kernel.line};
      if (!first_time(Fault::overlap, hash(site), 32 * a.position + b.position)) continue;
      finding_of(Fault::overlap, launch,
                 join("arguments ", a.position + 1, " and ", b.position + 1, " are both ",
                      describe_address(a.pointer)))
          .report("plain pointers, where a result may replace an input");
    }
  }
}

}  // namespace

cudaError_t submit(Launch launch, cudaStream_t handle, Call* raw_call) {
  const Entered entered;
  const std::shared_ptr<Call> call(raw_call);
  if (const Objection wrong = object_to(launch); !wrong.what.empty()) {
    const Site site{launch.kernel.file, launch.kernel.line};
    if (first_time(Fault::bad_launch, hash(site))) {
      finding_of(Fault::bad_launch, launch, wrong.what).report(wrong.right);
    }
    return fail(cudaErrorInvalidConfiguration);
  }
  CUstream_st* stream = find_stream(launch.kernel.name, handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  check_overlap(launch);
  queue(*stream, [launch = std::move(launch), call, device = stream->device] {
    if (executor().device(device).failure != cudaSuccess) return;
    Grid(launch, *call, device).run();
  });
  return outcome();
}

}  // namespace accrue::simt

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  using namespace accrue::simt;
  const Entered entered;
  if (value < 0 || static_cast<size_t>(value) > kDynamicSharedLimit) {
    return refuse("cudaFuncSetAttribute", join(value, " bytes of dynamic shared memory"),
                  join("at most ", kDynamicSharedLimit));
  }
  dynamic_limits()[kernel] = static_cast<size_t>(value);
  return outcome();
}
