// DType: the element types, and the two visitors that turn one into a C++ type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <type_traits>

#include <accrue/core/error.h>
#include <accrue/core/half.h>

namespace accrue {

enum class DType : uint8_t { float32, float64, bfloat16, float16, int64, int32, uint8, boolean };

inline constexpr DType float32 = DType::float32;
inline constexpr DType float64 = DType::float64;
inline constexpr DType int64 = DType::int64;
inline constexpr DType int32 = DType::int32;
inline constexpr DType uint8 = DType::uint8;

/// Bytes of one element.
constexpr size_t size_of(DType t) {
  constexpr size_t bytes[] = {4, 8, 2, 2, 8, 4, 1, 1};
  return bytes[static_cast<int>(t)];
}
/// "float32", "bool", ...
const char* name_of(DType t);
std::ostream& operator<<(std::ostream& out, DType t);

constexpr bool is_floating(DType t) { return t <= DType::float16; }
constexpr bool is_16bit_float(DType t) { return t == DType::bfloat16 || t == DType::float16; }

/// The dtype of a C++ element type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::float64;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return DType::bfloat16;
  else if constexpr (std::is_same_v<T, float16>)
    return DType::float16;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::int64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::int32;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::uint8;
  else {
    static_assert(std::is_same_v<T, bool>, "not an element type of accrue");
    return DType::boolean;
  }
}

/// The dtype that holds the values of both: floating beats integer, integer beats bool, wider beats
/// narrower; bfloat16 with float16 gives float32.
DType promote(DType a, DType b);

namespace detail {
[[noreturn]] void not_floating(DType t);
}

/// Calls f.template operator()<T>() with the C++ type of a floating dtype. Throws DTypeError.
template <class F>
decltype(auto) visit_float(DType t, F&& f) {
  switch (t) {
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::bfloat16:
      return f.template operator()<bfloat16>();
    case DType::float16:
      return f.template operator()<float16>();
    default:
      detail::not_floating(t);
  }
}

/// Calls f.template operator()<T>() with the C++ type of any dtype.
template <class F>
decltype(auto) visit_any(DType t, F&& f) {
  switch (t) {
    case DType::int64:
      return f.template operator()<int64_t>();
    case DType::int32:
      return f.template operator()<int32_t>();
    case DType::uint8:
      return f.template operator()<uint8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
    default:
      return visit_float(t, f);
  }
}

}  // namespace accrue
