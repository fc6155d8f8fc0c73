// Not instrumented: which mutant is awake lies in host memory, which kernels may not touch.
#include "tests/cuda/mutant.h"

#include <cstdlib>

namespace mutant {

bool on(int number) {
  static const char* const named = std::getenv("ACCRUE_MUTANT");
  static const int awake = named ? std::atoi(named) : 0;
  return number == awake;
}

}  // namespace mutant
