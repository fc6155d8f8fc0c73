#include <sstream>

#include <accrue/core/error.h>

namespace accrue::detail {

namespace {

template <class F>
void append(std::string& text, F print) {
  std::ostringstream out;
  out << std::boolalpha;
  print(out);
  text += out.str();
}

}  // namespace

Text& Text::print(void (*to)(std::ostream& out, const void* it), const void* it) {
  append(text_, [&](std::ostream& out) { to(out, it); });
  return *this;
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define ACCRUE_TEXT(T)                                   \
  Text& Text::operator<<(T x) {                          \
    append(text_, [&](std::ostream& out) { out << x; }); \
    return *this;                                        \
  }
// NOLINTEND(bugprone-macro-parentheses)
ACCRUE_TEXT(bool)
ACCRUE_TEXT(char)
ACCRUE_TEXT(int)
ACCRUE_TEXT(long)
ACCRUE_TEXT(long long)
ACCRUE_TEXT(unsigned)
ACCRUE_TEXT(unsigned long)
ACCRUE_TEXT(unsigned long long)
ACCRUE_TEXT(float)
ACCRUE_TEXT(double)
ACCRUE_TEXT(const char*)
ACCRUE_TEXT(const std::string&)
#undef ACCRUE_TEXT

void assertion_failed(const char* condition, const char* file, int line) {
  throw Error(concat("accrue is at fault: ", condition, " does not hold at ", file, ":", line));
}

}  // namespace accrue::detail
