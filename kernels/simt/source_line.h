// From an address of code to "file:line in function", by way of the debug information.
#pragma once
#include <cstdint>
#include <string>

namespace accrue::simt {

// The line of the call or access that returns to `pc`; functions that were inlined there are
// followed to the kernel: "reduce.cuh:12 in warp_sum, from softmax.cu:40 in softmax_rows".
std::string source_line(uint64_t pc);

// An address of code in 32 bits, relative to the executor itself.
uint32_t pack_pc(const void* pc);
uint64_t unpack_pc(uint32_t packed);

}  // namespace accrue::simt
