// What is said when memory does not suffice: who holds it, and what would help.
#pragma once
#include <accrue/core/memory.h>

namespace accrue {

struct Shortage {
  int64_t asked;      ///< bytes
  MemoryKind kind;    ///< what for
  int64_t limit;      ///< of set_memory_limit() if that is what stopped it, else 0
  bool made_to_fail;  ///< by fail_allocation()
  MemoryStats stats;  ///< at that moment
};

/// How many times more accumulation steps, a power of two, would make the activations small enough
/// for the limit; 0 if none would, because what does not shrink with a micro-batch fills it.
/// Counts the activations seen so far, so it is the least that can help.
int64_t suggested_steps(const Shortage& shortage);

/// Throws OutOfMemory.
[[noreturn]] void throw_out_of_memory(const Shortage& shortage);

}  // namespace accrue
