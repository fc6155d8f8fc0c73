// Dims: the sizes or strides of a tensor, and the arithmetic on shapes that everything shares.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>

#include <accrue/core/error.h>

namespace accrue {

inline constexpr int kMaxRank = 8;

/// At most kMaxRank numbers, inline: never allocates, and travels to a CUDA kernel by value.
class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<int64_t> values) {
    for (int64_t v : values) push_back(v);
  }
  explicit constexpr Dims(std::span<const int64_t> values) {
    for (int64_t v : values) push_back(v);
  }
  /// `rank` copies of `value`.
  static constexpr Dims filled(int rank, int64_t value) {
    Dims d;
    for (int i = 0; i < rank; ++i) d.push_back(value);
    return d;
  }

  ACCRUE_HD constexpr int size() const { return size_; }
  ACCRUE_HD constexpr bool empty() const { return size_ == 0; }
  ACCRUE_HD constexpr int64_t operator[](int i) const { return values_[i]; }
  ACCRUE_HD constexpr int64_t& operator[](int i) { return values_[i]; }
  ACCRUE_HD constexpr const int64_t* begin() const { return values_; }
  ACCRUE_HD constexpr const int64_t* end() const { return values_ + size_; }
  ACCRUE_HD constexpr int64_t* begin() { return values_; }
  ACCRUE_HD constexpr int64_t* end() { return values_ + size_; }
  constexpr int64_t back() const { return values_[size_ - 1]; }
  constexpr void push_back(int64_t value) {
    if (size_ == kMaxRank)
      throw ShapeError("shape: more than 8 dimensions; a tensor has at most 8");
    values_[size_++] = value;
  }
  constexpr void insert(int at, int64_t value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  constexpr void erase(int at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }

  friend constexpr bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }

 private:
  int64_t values_[kMaxRank] = {};
  int size_ = 0;
};

/// Prints `[2, 3]`.
std::ostream& operator<<(std::ostream& out, const Dims& dims);

/// Number of elements of a shape that exists already, hence known to fit.
ACCRUE_HD inline constexpr int64_t numel(const Dims& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}
/// Number of elements of a shape a user asks for.
/// Throws ShapeError if a size is negative or the count or its bytes do not fit in 63 bits.
int64_t checked_numel(const char* op, const Dims& shape, int64_t element_bytes = 1);

/// The strides of a dense tensor whose last dimension runs fastest.
Dims row_major(const Dims& shape);

/// The shape that a and b both stretch to, by NumPy's rule. Throws ShapeError naming the dimension.
Dims broadcast(const char* op, const Dims& a, const Dims& b);

/// A dimension counted from the front; negative ones count from the back.
/// Throws ShapeError if it is outside [-rank, rank).
int normalize_dim(const char* op, int64_t dim, int rank);

}  // namespace accrue
