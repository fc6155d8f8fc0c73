// Makes IDX files, plain and packed, byte by byte: nothing of the reader under test is used.
#pragma once
#include "tests/io/support.h"
#include <zlib.h>

namespace accrue::test {

inline void append_number(Bytes& out, uint32_t n) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<unsigned char>(n >> shift));
}

/// An IDX file of unsigned bytes.
inline Bytes idx(const std::vector<uint32_t>& shape, const Bytes& content) {
  Bytes out = {0, 0, 8, static_cast<unsigned char>(shape.size())};
  for (uint32_t size : shape) append_number(out, size);
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

/// The same bytes as gzip writes them; level 0 stores them.
inline Bytes packed(const Bytes& plain, int level = 9) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&stream, plain.size()) + 32);
  stream.next_in = const_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace accrue::test
