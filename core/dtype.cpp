#include <ostream>

#include <accrue/core/dtype.h>

namespace accrue {

const char* name_of(DType t) {
  constexpr const char* names[] = {"float32", "float64", "bfloat16", "float16",
                                   "int64",   "int32",   "uint8",    "bool"};
  return names[static_cast<int>(t)];
}

std::ostream& operator<<(std::ostream& out, DType t) { return out << name_of(t); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) && is_floating(b)) {
    if (a == DType::float64 || b == DType::float64) return DType::float64;
    return DType::float32;  // float32 with a 16-bit type, or the two 16-bit types together
  }
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  return a < b ? a : b;  // int64, int32, uint8, bool stand in falling order
}

void detail::not_floating(DType t) {
  throw DTypeError(concat("dtype: ", t, " is not a floating point type; cast the tensor first"));
}

}  // namespace accrue
