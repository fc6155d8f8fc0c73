// Data races: two accesses to the same bytes, one of them a write, with nothing between them that
// orders them. Accesses of one block are ordered by __syncthreads(), those of one warp also by
// __syncwarp(), those of different blocks by the end of a launch. Two atomics never race.
#pragma once
#include <cstddef>
#include <cstdint>

namespace accrue::simt {

enum class Kind : uint8_t { read, write, atomic };
const char* name_of(Kind kind);

struct Access {
  const void* pointer;
  size_t bytes;
  Kind kind;
  const void* pc;
};

struct Allocation;

// Reports the races of an access of the current thread with earlier ones, and remembers it.
void check_races(Allocation& allocation, size_t offset, const Access& access);

}  // namespace accrue::simt
