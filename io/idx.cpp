#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include <zlib.h>

#include <accrue/core/factories.h>

#include <accrue/io/idx.h>

namespace accrue::io {
namespace {

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};
using File = std::unique_ptr<gzFile_s, Close>;

constexpr unsigned kUnsignedByte = 0x08;
constexpr int64_t kStep = 1 << 20;  // read in steps: a size in a header is a claim, not a fact

File open(const std::string& path) {
  errno = 0;
  File file(gzopen(path.c_str(), "rb"));
  check<FileError>(file != nullptr, "idx: cannot open ", path, ": ", std::strerror(errno));
  return file;
}

/// Up to `bytes` bytes. Throws FileError for damaged compressed data.
int64_t read_some(const File& file, const std::string& path, void* out, int64_t bytes) {
  const int got = gzread(file.get(), out, static_cast<unsigned>(bytes));
  int code = Z_OK;
  const char* reason = gzerror(file.get(), &code);
  check<FileError>(got >= 0 && (code == Z_OK || code == Z_STREAM_END), "idx: ", path,
                   " is damaged: ", code == Z_ERRNO ? std::strerror(errno) : reason,
                   "; install or copy it again");
  return got;
}

uint32_t read_number(const File& file, const std::string& path) {
  std::array<unsigned char, 4> bytes{};
  check<FileError>(read_some(file, path, bytes.data(), 4) == 4, "idx: ", path,
                   " ends within its header; it is not an IDX file or was cut");
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

Tensor read_idx(const std::string& path) {
  const File file = open(path);
  const uint32_t magic = read_number(file, path);
  const int rank = static_cast<int>(magic & 0xffU);
  check<FileError>(magic >> 8 == kUnsignedByte && rank >= 1 && rank <= kMaxRank, "idx: ", path,
                   " starts with ", magic,
                   "; an IDX file of unsigned bytes starts with 2049 to 2056");
  Dims shape;
  for (int d = 0; d < rank; ++d) shape.push_back(read_number(file, path));
  const int64_t wanted = checked_numel("idx", shape);

  std::vector<uint8_t> content;
  while (static_cast<int64_t>(content.size()) < wanted) {
    const auto have = static_cast<int64_t>(content.size());
    const int64_t step = std::min(kStep, wanted - have);
    content.resize(static_cast<size_t>(have + step));
    const int64_t got = read_some(file, path, content.data() + have, step);
    check<FileError>(got > 0, "idx: ", path, " holds ", have, " of the ", wanted, " elements of ",
                     shape, " that its header promises; it was cut");
    content.resize(static_cast<size_t>(have + got));
  }
  uint8_t beyond = 0;
  check<FileError>(read_some(file, path, &beyond, 1) == 0, "idx: ", path, " goes on after the ",
                   wanted, " elements of ", shape, " that its header promises");
  return from_data(content.data(), shape, Device::cpu());
}

}  // namespace accrue::io
