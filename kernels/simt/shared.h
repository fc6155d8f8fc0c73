// The shared memory of the block that runs: its variables one after the other, with a gap behind
// each that an overrun falls into.
#pragma once
#include <cstddef>
#include <string>

namespace accrue::simt {

constexpr size_t kStaticSharedLimit = size_t{48} << 10;    // without cudaFuncSetAttribute
constexpr size_t kDynamicSharedLimit = size_t{227} << 10;  // with it

// A block begins with no variables; what the block before left is neither valid nor set.
void clear_shared();

std::string describe_shared(size_t offset);

}  // namespace accrue::simt
