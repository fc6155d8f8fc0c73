#include <algorithm>
#include <cstring>
#include <map>

#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/memory.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/shared.h>
#include <accrue/kernels/simt/vocabulary.h>

namespace accrue::simt {
namespace {

constexpr size_t kGap = 256;

struct Placed {
  size_t bytes;
  const SharedVariable* variable;  // null is the dynamic shared memory
};
struct SharedMemory {
  size_t used = 0;
  size_t static_bytes = 0;
  void* dynamic = nullptr;
  std::map<size_t, Placed> variables;  // by offset
};
SharedMemory& shared() {
  static auto* const instance = new SharedMemory;
  return *instance;
}

void* place(size_t bytes, size_t alignment, const SharedVariable* variable) {
  alignment = std::max<size_t>(alignment, 16);
  const size_t begin = (shared().used + kGap + alignment - 1) / alignment * alignment;
  if (begin + bytes + kGap > kSharedSpan) {
    Finding(Fault::bad_launch, "the variables of a block need more shared memory than there is")
        .kernel()
        .report(join("at most ", kDynamicSharedLimit, " bytes in all"));
    running->kill(cudaErrorInvalidConfiguration);
  }
  shared().used = begin + bytes;
  shared().variables[begin] = {bytes, variable};
  Arena::set_states(begin, bytes, ByteState::unset);
  std::memset(Arena::address(begin), 0xff, bytes);
  return Arena::address(begin);
}

}  // namespace

void clear_shared() {
  SharedMemory& all = shared();
  if (all.used != 0) Arena::set_states(0, all.used, ByteState::none);
  all.used = all.static_bytes = 0;
  all.dynamic = nullptr;
  all.variables.clear();
}

void* shared_memory(SharedVariable& variable) {
  if (variable.block == running->serial()) return variable.address;
  variable.block = running->serial();
  variable.address = place(variable.bytes, variable.alignment, &variable);
  shared().static_bytes += variable.bytes;
  const Site site{variable.file, variable.line};
  if (shared().static_bytes > kStaticSharedLimit && first_time(Fault::bad_launch, hash(site))) {
    Finding(Fault::bad_launch, join("SIMT_SHARED variables of ", shared().static_bytes, " bytes"))
        .kernel()
        .line("at", text_of(site))
        .report(join("at most ", kStaticSharedLimit, " bytes, or SIMT_DYN_SHARED"));
  }
  return variable.address;
}

void* dynamic_shared_memory() {
  void*& begin = shared().dynamic;
  if (!begin) begin = place(running->launch().shared_bytes, 16, nullptr);
  return begin;
}

std::string describe_shared(size_t offset) {
  auto next = shared().variables.upper_bound(offset);
  if (next == shared().variables.begin()) return "shared memory before the first variable";
  const auto& [begin, placed] = *--next;
  const std::string name =
      placed.variable ? join("shared '", placed.variable->name, "'") : "dynamic shared memory";
  std::string text = join(name, " (", placed.bytes, " bytes)");
  const size_t byte = offset - begin;
  return text + (byte < placed.bytes ? join(", byte ", byte)
                                     : join(", ", byte - placed.bytes, " bytes past its end"));
}

}  // namespace accrue::simt
