// A stranger's first program. It fails if what was found is not a working accrue.
#include <cstdio>

#include <accrue/accrue.h>

int main() {
  const accrue::Tensor x = accrue::tensor({{1, 2}, {3, 4}});
  const bool right = x.at({1, 0}) == 3;
  std::printf("accrue %s: %s\n", ACCRUE_VERSION, right ? "right" : "wrong");
  return right ? 0 : 1;
}
