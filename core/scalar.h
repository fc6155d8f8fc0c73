// Scalar: a number a user writes next to a tensor, remembering whether it was an integer. It is
// kept as a double: an integer that no double equals throws ValueError, as it would change
// silently.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>

#include <accrue/core/dtype.h>

namespace accrue {

class Scalar {
 public:
  template <std::integral T>
  Scalar(T value) : value_(static_cast<double>(value)), integral_(true) {
    if constexpr (sizeof(T) > sizeof(int32_t))
      check<ValueError>(is_exact(value), "scalar: no double equals ", value,
                        "; make it a tensor of one element");
  }
  template <std::floating_point T>
  Scalar(T value) : value_(static_cast<double>(value)) {}

  double value() const { return value_; }
  bool is_integral() const { return integral_; }
  Scalar operator-() const {
    Scalar negated = *this;
    negated.value_ = -value_;
    return negated;
  }

  /// The dtype of `tensor of t` op `this`: a number never widens a tensor, but a fraction makes an
  /// integer tensor float32, and an integer makes a bool tensor int64.
  DType promote(DType t) const {
    if (is_floating(t)) return t;
    if (!integral_) return DType::float32;
    return t == DType::boolean ? DType::int64 : t;
  }
  /// A dtype that holds this number exactly enough to be compared with elements of t.
  DType comparable(DType t) const {
    if (is_floating(t)) return t;
    return integral_ ? DType::int64 : DType::float64;
  }

 private:
  /// Compared within T: the double may be 2⁶³ or 2⁶⁴, which T does not hold.
  template <std::integral T>
  static bool is_exact(T value) {
    const auto number = static_cast<double>(value);
    return number < static_cast<double>(std::numeric_limits<T>::max()) &&
           static_cast<T>(number) == value;
  }

  double value_;
  bool integral_ = false;
};

}  // namespace accrue
