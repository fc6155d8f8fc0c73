#include <accrue/core/error.h>

namespace accrue::detail {

void assertion_failed(const char* condition, const char* file, int line) {
  throw Error(concat("accrue is at fault: ", condition, " does not hold at ", file, ":", line));
}

}  // namespace accrue::detail
