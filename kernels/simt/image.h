// The read-only data of a program or library: string literals, constexpr tables, vtables.
#pragma once
#include <cstdint>
#include <vector>

namespace accrue::simt {

class Image {
 public:
  // Of the program or library that holds the function; looked up once for each.
  static const Image& of(const void* function);

  bool has_constant(const void* pointer) const {
    for (const Range& range : ranges_) {
      if (pointer >= range.begin && pointer < range.end) return true;
    }
    return false;
  }

 private:
  struct Range {
    const char* begin;
    const char* end;
  };
  std::vector<Range> ranges_;
};

}  // namespace accrue::simt
