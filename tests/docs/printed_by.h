// What a function prints on std::cout.
#pragma once
#include <iostream>
#include <sstream>
#include <string>

namespace accrue::docs {

inline std::string printed_by(void (*run)()) {
  std::ostringstream text;
  std::streambuf* before = std::cout.rdbuf(text.rdbuf());
  try {
    run();
  } catch (...) {
    std::cout.rdbuf(before);
    throw;
  }
  std::cout.rdbuf(before);
  std::cout << std::noboolalpha;
  return text.str();
}

}  // namespace accrue::docs
