#include <ostream>

#include <accrue/core/dims.h>

namespace accrue {

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '[';
  for (int i = 0; i < dims.size(); ++i) out << (i ? ", " : "") << dims[i];
  return out << ']';
}

int64_t checked_numel(const char* op, const Dims& shape, int64_t element_bytes) {
  int64_t bytes = element_bytes;
  int64_t n = 1;
  bool overflow = false;
  bool none = false;
  for (int64_t size : shape) {
    check<ShapeError>(size >= 0, op, ": a size is negative: ", shape, "; sizes are 0 or more");
    none |= size == 0;
    // a zero elsewhere must not hide that the strides of this shape would wrap
    overflow |= __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes);
    n *= overflow ? 0 : size;
  }
  check<ShapeError>(!overflow, op, ": the shape is too large: ", shape, " of ", element_bytes,
                    " byte elements; the bytes must fit in 63 bits");
  return none ? 0 : n;
}

Dims row_major(const Dims& shape) {
  Dims strides = shape;
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

Dims broadcast(const char* op, const Dims& a, const Dims& b) {
  if (a == b) return a;
  const int rank = std::max(a.size(), b.size());
  Dims out = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    check<ShapeError>(x == y || x == 1 || y == 1, op, ": cannot broadcast ", a, " with ", b,
                      ": dimension ", rank - i, " is ", x, " on the left and ", y,
                      " on the right; sizes must be equal or 1");
    out[rank - i] = x == 1 ? y : x;
  }
  return out;
}

int normalize_dim(const char* op, int64_t dim, int rank) {
  check<ShapeError>(dim >= -rank && dim < rank, op, ": dimension ", dim, " of a tensor with ", rank,
                    " dimensions; it must be in [", -rank, ", ", rank, ")");
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

}  // namespace accrue
