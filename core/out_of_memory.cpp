#include <accrue/core/error.h>
#include <accrue/core/out_of_memory.h>

namespace accrue {
namespace {

/// Activations and workspaces shrink with the micro-batch; the rest has the model's size.
bool shrinks(MemoryKind kind) {
  return kind == MemoryKind::activation || kind == MemoryKind::workspace;
}

/// "12 bytes of parameter, 40 of activation"
std::string holders(const MemoryStats& stats) {
  std::string out;
  for (int k = 0; k < kMemoryKinds; ++k) {
    const auto kind = static_cast<MemoryKind>(k);
    const int64_t live = stats.of(kind).live;
    if (live == 0) continue;
    out += detail::concat(out.empty() ? "" : ", ", live, out.empty() ? " bytes of " : " of ",
                          name_of(kind));
  }
  return out.empty() ? "nothing" : out;
}

std::string advice(const Shortage& shortage) {
  if (shortage.limit == 0) return "use smaller micro-batches with more accumulation steps";
  const int64_t steps = suggested_steps(shortage);
  if (steps == 0)
    return "what is asked for does not shrink with the micro-batch; use a smaller model or a "
           "higher limit";
  return detail::concat("use smaller micro-batches: ", steps,
                        " times as many accumulation steps would fit");
}

}  // namespace

int64_t suggested_steps(const Shortage& shortage) {
  int64_t shrinking = shrinks(shortage.kind) ? shortage.asked : 0;
  int64_t room = shortage.limit - (shrinking ? 0 : shortage.asked);
  for (int k = 0; k < kMemoryKinds; ++k) {
    const auto kind = static_cast<MemoryKind>(k);
    const int64_t live = shortage.stats.of(kind).live;
    if (shrinks(kind))
      shrinking += live;
    else
      room -= live;
  }
  if (shrinking == 0 || room <= 0) return 0;
  int64_t steps = 2;
  while ((shrinking - 1) / steps + 1 > room) steps *= 2;
  return steps;
}

void throw_out_of_memory(const Shortage& shortage) {
  const std::string wanted =
      detail::concat("memory: ", shortage.asked, " bytes of ", name_of(shortage.kind));
  if (shortage.made_to_fail)
    throw OutOfMemory(wanted + " asked for, and this allocation was made to fail");
  const int64_t live = shortage.stats.total.live;
  if (shortage.limit != 0)
    throw OutOfMemory(detail::concat(wanted, " asked for, ", live, " of the limit ", shortage.limit,
                                     " are in use (", holders(shortage.stats), "); ",
                                     advice(shortage)));
  throw OutOfMemory(detail::concat(wanted, " asked for, and the system has no more; ", live,
                                   " are in use (", holders(shortage.stats), "); ",
                                   advice(shortage)));
}

}  // namespace accrue
