// store(): the one place where a result meets memory, apart from the matrix product's start value.
#pragma once
#include <accrue/kernels/dest.h>

namespace accrue::kernels {

/// *out = value, or *out += value; the sum is formed in the type of `value` and rounded once.
template <class T, class Value>
ACCRUE_HD inline void store(T* out, Value value, Write write) {
  *out = static_cast<T>(write == Write::add ? static_cast<Value>(*out) + value : value);
}

}  // namespace accrue::kernels
