#include <limits>

#include "tests/io/idx_bytes.h"
#include "tests/io/support.h"
#include <sys/stat.h>
#include <unistd.h>

#include <accrue/accrue.h>
#include <accrue/io/idx.h>

namespace accrue::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Bytes counting(size_t n) {
  Bytes out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<unsigned char>(i * 7 + i / 256);
  return out;
}

class Idx : public ::testing::Test {
 protected:
  Folder folder;
  std::string path = folder / "x-idx";

  Tensor read(const Bytes& bytes) {
    write_file(path, bytes);
    return io::read_idx(path);
  }
  /// Rejected with a FileError that names the path.
  std::string rejected(const Bytes& bytes) {
    write_file(path, bytes);
    std::string text = message_of<FileError>([&] { io::read_idx(path); });
    EXPECT_THAT(text, AllOf(StartsWith("idx: "), HasSubstr(path)));
    return text;
  }
};

TEST_F(Idx, WhatIsWrittenIsReadPlainAndPacked) {
  const Bytes content = counting(60);
  for (const Bytes& bytes : {idx({3, 4, 5}, content), packed(idx({3, 4, 5}, content)),
                             packed(idx({3, 4, 5}, content), 0)}) {
    const Tensor x = read(bytes);
    EXPECT_EQ(x.dtype(), DType::uint8);
    EXPECT_EQ(x.shape(), (Dims{3, 4, 5}));
    EXPECT_EQ(x.to_vector<uint8_t>(), content);
  }
}

TEST_F(Idx, LargerThanEveryBufferInside) {
  const Bytes content = counting(3'000'000);
  for (const Bytes& bytes : {idx({3'000'000}, content), packed(idx({3'000'000}, content), 1),
                             packed(idx({3'000'000}, content), 0)}) {
    EXPECT_EQ(read(bytes).to_vector<uint8_t>(), content);
  }
  const Bytes zeros(5'000'000, 0);  // packed about 1000 to 1, near what the format can
  EXPECT_EQ(read(packed(idx({5'000'000}, zeros))).to_vector<uint8_t>(), zeros);
}

TEST_F(Idx, EveryRankAndEmptyOnes) {
  EXPECT_EQ(read(idx({0}, {})).shape(), (Dims{0}));
  EXPECT_EQ(read(packed(idx({4, 0, 3}, {}))).shape(), (Dims{4, 0, 3}));
  EXPECT_EQ(read(idx({1, 1, 1, 1, 1, 1, 1, 2}, {9, 8})).to_vector<uint8_t>(), (Bytes{9, 8}));
}

TEST_F(Idx, EveryPrefixIsRejected) {
  const Bytes plain = idx({4, 6}, counting(24));
  for (const Bytes& whole : {plain, packed(plain), packed(plain, 0)})
    for (size_t n = 0; n < whole.size(); ++n) {
      SCOPED_TRACE(n);
      rejected(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    }
}

// A flip is caught, or it changes nothing (gzip's time and name of the system), or, in a plain
// file, which has no checksum, it changes elements or exchanges one shape for another of as many
// elements.
TEST_F(Idx, EveryFlippedBitIsRejectedOrHarmless) {
  const Bytes content = counting(24);
  const Bytes plain = idx({4, 6}, content);
  constexpr size_t gzip_trailer = 8;
  constexpr int without_meaning = 32 + 8 + 8 + 1 + 7;
  for (const Bytes& whole : {plain, packed(plain), packed(plain, 0)}) {
    const bool checked = whole != plain;
    int unseen = 0;
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      SCOPED_TRACE(bit);
      Bytes damaged = whole;
      damaged[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
      write_file(path, damaged);
      try {
        const Tensor x = io::read_idx(path);
        EXPECT_EQ(x.dtype(), DType::uint8);
        EXPECT_EQ(x.numel(), 24);
        if (checked) {
          ++unseen;
          EXPECT_EQ(x.to_vector<uint8_t>(), content);
        }
      } catch (const FileError& error) {
        EXPECT_THAT(error.what(), HasSubstr(path));
      }
    }
    if (!checked) continue;
    EXPECT_LE(unseen, without_meaning);
    for (size_t i = whole.size() - gzip_trailer; i < whole.size(); ++i) {
      Bytes damaged = whole;
      damaged[i] ^= 1U;  // of the checksum and the length
      EXPECT_THAT(rejected(damaged), HasSubstr("is damaged: incorrect"));
    }
  }
}

TEST_F(Idx, TrailingBytesAreRejected) {
  const Bytes plain = idx({2, 3}, counting(6));
  Bytes longer = plain;
  longer.push_back(0);
  EXPECT_THAT(rejected(longer), HasSubstr("goes on after the 6 elements of [2, 3]"));
  EXPECT_THAT(rejected(packed(longer)), HasSubstr("goes on after the 6 elements of [2, 3]"));
  Bytes behind = packed(plain);
  behind.push_back(0);
  EXPECT_THAT(rejected(behind), HasSubstr("goes on after its compressed data"));
  Bytes twice = packed(plain);
  const Bytes again = twice;
  twice.insert(twice.end(), again.begin(), again.end());
  EXPECT_THAT(rejected(twice), HasSubstr("goes on after its compressed data"));
}

TEST_F(Idx, WrongMagicIsNamed) {
  EXPECT_THAT(rejected({'P', 'K', 3, 4, 0, 0, 0, 0}), HasSubstr("2049 to 2056"));
  EXPECT_THAT(rejected({0, 0, 0x0d, 1, 0, 0, 0, 1, 0, 0, 0, 0}), HasSubstr("starts with 3329"));
  EXPECT_THAT(rejected({0, 0, 8, 0}), HasSubstr("starts with 2048"));
  EXPECT_THAT(rejected({0, 0, 8, 9}), HasSubstr("starts with 2057"));
  EXPECT_THAT(rejected({0, 0, 8, 255}), HasSubstr("starts with 2303"));
}

// A header of a few bytes may promise 2^96 elements: nothing of the kind is allocated.
TEST_F(Idx, AHeaderCannotMakeUsAllocate) {
  constexpr uint32_t most = std::numeric_limits<uint32_t>::max();
  const auto most_live = [&](const Bytes& bytes) {
    reset_peak_memory_stats();
    rejected(bytes);
    return memory_stats().total.peak - memory_stats().total.live;
  };
  const std::vector<std::vector<uint32_t>> shapes = {{most},
                                                     {most, most},
                                                     {most, most, most},
                                                     {1U << 31, 1U << 31, 4},
                                                     {0, most, 1},
                                                     std::vector<uint32_t>(8, most)};
  for (const auto& shape : shapes) {
    const Bytes bytes = idx(shape, {1, 2, 3, 4});
    EXPECT_LE(most_live(bytes), 1 << 20);
    EXPECT_LE(most_live(packed(bytes)), 1 << 20);
  }
}

TEST_F(Idx, WhatIsNoFileIsRefused) {
  const auto text = [&] { return message_of<FileError>([&] { io::read_idx(path); }); };
  EXPECT_THAT(text(), AllOf(HasSubstr(path), HasSubstr("No such file")));
  fs::create_directory(path);
  EXPECT_THAT(text(), AllOf(HasSubstr(path), HasSubstr("not a regular file")));
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  alarm(20);  // a reader that waits for a writer would wait for ever
  EXPECT_THAT(text(), AllOf(HasSubstr(path), HasSubstr("not a regular file")));
  alarm(0);
  EXPECT_THAT(message_of<FileError>([] { io::read_idx("/dev/zero"); }), HasSubstr("/dev/zero"));
  EXPECT_THAT(message_of<FileError>([] { io::read_idx(""); }), HasSubstr("cannot open"));
}

TEST_F(Idx, AFileThatMayNotBeReadIsRefused) {
  write_file(path, idx({1}, {1}));
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_EXIT(
      {
        constexpr uid_t nobody = 65534;
        if (geteuid() == 0 && setuid(nobody) != 0) _exit(2);
        try {
          io::read_idx(path);
        } catch (const FileError& error) {
          std::cerr << error.what() << std::endl;
          _exit(0);
        }
        _exit(1);
      },
      ::testing::ExitedWithCode(0), "cannot open .*x-idx: Permission denied");
}

TEST_F(Idx, ALinkToAFileIsRead) {
  write_file(folder / "real", idx({2}, {5, 6}));
  fs::create_symlink(folder / "real", path);
  EXPECT_EQ(io::read_idx(path).to_vector<uint8_t>(), (Bytes{5, 6}));
}

}  // namespace
}  // namespace accrue::test
