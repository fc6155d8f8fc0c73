// Reads IDX files, the format of MNIST and its relatives: a magic number, sizes, then the elements.
// Plain or gzip-compressed, told apart by content.
#pragma once
#include <string>

#include <accrue/core/tensor.h>

namespace accrue::io {

/// The content of an IDX file of unsigned bytes, as a uint8 tensor on the cpu.
/// Throws FileError if the file is missing, is no such file, is shorter or longer than it says, or
/// fails gzip's checksum. Nothing is allocated that a file of its length could not hold.
Tensor read_idx(const std::string& path);

}  // namespace accrue::io
