// Findings on their way to the user. A Finding is the text of one report: a headline, labelled
// lines, and what would be right. first_time() keeps a loop from reporting a million times.
// Now read: access.cpp for the largest source of findings.
#pragma once
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <accrue/kernels/simt/control.h>
#include <accrue/kernels/simt/launch.h>

namespace accrue::simt {

template <class... Parts>
std::string join(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

class Finding {
 public:
  Finding(Fault fault, const std::string& headline);
  // A line "  label    text".
  Finding& line(const std::string& label, const std::string& text);
  // The kernel that runs now and the thread that made the access, if a kernel runs.
  Finding& kernel();
  Finding& thread();
  // Writes the report down, and to stderr if reports are echoed.
  void report(const std::string& what_would_be_right);

 private:
  Fault fault_;
  std::string text_;
};

// Whether the fault is new at the place (a, b): addresses of code, or hash() of sites.
bool first_time(Fault fault, uint64_t a, uint64_t b = 0);
uint64_t hash(const Site& site);

// "softmax.cu:40", without folders.
std::string text_of(const Site& site);
std::string text_of(const dim3& size);
std::string text_of(const uint3& index);

}  // namespace accrue::simt
