#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <accrue/core/factories.h>

#include <accrue/io/idx.h>

namespace accrue::io {
namespace {

constexpr unsigned kUnsignedByte = 0x08;
constexpr int64_t kNumberBytes = 4;
constexpr int64_t kMostPerByte = 1032;  // deflate writes no more for a byte that it reads

struct Handle {
  explicit Handle(int opened) : file(opened) {}
  ~Handle() {
    if (file >= 0) ::close(file);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  const int file;
};

/// The bytes of a regular file, unpacked if they begin as gzip does.
class Source {
 public:
  // O_NONBLOCK: a FIFO is then refused here, and not waited for
  explicit Source(const std::string& path)
      : path_(path), handle_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat about {};
    check<FileError>(handle_.file >= 0 && ::fstat(handle_.file, &about) == 0, "idx: cannot open ",
                     path, ": ", std::strerror(errno));
    check<FileError>(S_ISREG(about.st_mode), "idx: cannot open ", path,
                     ": it is not a regular file");
    size_ = about.st_size;
    constexpr std::array<uint8_t, 2> gzip = {0x1f, 0x8b};
    constexpr int gzip_only = 16;
    std::array<uint8_t, 2> first{};
    packed_ = ::pread(handle_.file, first.data(), 2, 0) == 2 && first == gzip;
    check<OutOfMemory>(!packed_ || inflateInit2(&stream_, gzip_only + MAX_WBITS) == Z_OK,
                       "idx: no memory to unpack ", path);
  }
  ~Source() {
    if (packed_) inflateEnd(&stream_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// How many bytes there can be at most.
  int64_t bound() const { return packed_ ? size_ * kMostPerByte : size_; }

  /// The next bytes: `bytes` of them, or all that are left.
  int64_t read(uint8_t* out, int64_t bytes) {
    int64_t done = 0;
    while (done < bytes) {
      const int64_t n = packed_ ? unpack(out + done, bytes - done) : take(out + done, bytes - done);
      if (n == 0) break;
      done += n;
    }
    return done;
  }

  template <class... Parts>
  [[noreturn]] void damaged(const Parts&... parts) const {
    detail::fail<FileError>("idx: ", path_, " ", parts...);
  }

 private:
  int64_t take(uint8_t* out, int64_t bytes) const {
    ssize_t n = -1;
    do n = ::read(handle_.file, out, static_cast<size_t>(bytes));
    while (n < 0 && errno == EINTR);
    if (n < 0) damaged("cannot be read: ", std::strerror(errno));
    return n;
  }

  // Returns 0 only where the packed bytes end as they should: behind their checksum, with the file.
  int64_t unpack(uint8_t* out, int64_t bytes) {
    constexpr int64_t most = 1 << 30;  // zlib counts in 32 bits
    const int64_t wanted = std::min(bytes, most);
    stream_.next_out = out;
    stream_.avail_out = static_cast<uInt>(wanted);
    while (!ended_ && stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        stream_.next_in = input_.data();
        stream_.avail_in = static_cast<uInt>(take(input_.data(), int64_t{sizeof input_}));
        if (stream_.avail_in == 0) damaged("ends too early; it was cut: copy or install it again");
      }
      const int code = inflate(&stream_, Z_NO_FLUSH);
      ended_ = code == Z_STREAM_END;
      if (code != Z_OK && !ended_)
        damaged("is damaged: ", stream_.msg ? stream_.msg : "no gzip data",
                "; copy or install it again");
    }
    uint8_t beyond = 0;
    if (ended_ && (stream_.avail_in > 0 || take(&beyond, 1) > 0))
      damaged("goes on after its compressed data; copy or install it again");
    return wanted - stream_.avail_out;
  }

  const std::string& path_;
  Handle handle_;
  int64_t size_ = 0;
  bool packed_ = false, ended_ = false;
  z_stream stream_{};
  std::array<uint8_t, 1 << 15> input_{};
};

uint32_t read_number(Source& source) {
  std::array<uint8_t, kNumberBytes> bytes{};
  if (source.read(bytes.data(), kNumberBytes) < kNumberBytes)
    source.damaged("ends within its header; it is not an IDX file, or was cut");
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

Dims read_shape(Source& source) {
  const uint32_t magic = read_number(source);
  const int rank = static_cast<int>(magic & 0xffU);
  if (magic >> 8 != kUnsignedByte || rank < 1 || rank > kMaxRank)
    source.damaged("starts with ", magic,
                   "; an IDX file of unsigned bytes starts with 2049 to 2056");
  Dims shape;
  for (int d = 0; d < rank; ++d) shape.push_back(read_number(source));
  // A size in a header is a claim; what the file can hold is a fact.
  int64_t claimed = 1;
  for (const int64_t size : shape) {
    if (size > 0 && claimed > source.bound() / size)
      source.damaged("promises elements of shape ", shape, ", more than it can hold; it was cut");
    claimed *= size;
  }
  return shape;
}

}  // namespace

Tensor read_idx(const std::string& path) {
  Source source(path);
  const Dims shape = read_shape(source);
  Tensor content = Tensor::empty(shape, DType::uint8, Device::cpu());
  const int64_t got = source.read(content.data<uint8_t>(), content.numel());
  if (got < content.numel())
    source.damaged("holds ", got, " of the ", content.numel(), " elements of ", shape,
                   " that its header promises; it was cut");
  uint8_t beyond = 0;
  if (source.read(&beyond, 1) > 0)
    source.damaged("goes on after the ", got, " elements of ", shape, " that its header promises");
  return content;
}

}  // namespace accrue::io
