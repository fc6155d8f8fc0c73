// The exceptions of accrue and the one function that throws them.
//
// A mistake of the caller is `check<ShapeError>(ok, "matmul: inner dimensions differ: ", a, ...)`,
// thrown before anything has changed. Form: `op: what is wrong: the values; what would be right`.
#pragma once
#include <iosfwd>
#include <stdexcept>
#include <string>

#include <accrue/core/macros.h>

namespace accrue {

/// Root of everything that accrue throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// Shapes, ranks, dimensions or counts that do not fit.
class ShapeError : public Error {
 public:
  using Error::Error;
};
/// An element type that an operation does not take.
class DTypeError : public Error {
 public:
  using Error::Error;
};
/// A device that is absent, or tensors on different ones.
class DeviceError : public Error {
 public:
  using Error::Error;
};
/// A misuse of the tape: no graph, a freed graph, a saved tensor changed in place.
class AutogradError : public Error {
 public:
  using Error::Error;
};
/// An index (label, id, position) outside its range.
class IndexError : public Error {
 public:
  using Error::Error;
};
/// An argument that is not a shape, dtype, device or index: a learning rate, a probability, a name.
class ValueError : public Error {
 public:
  using Error::Error;
};
/// A call of the CUDA runtime that failed.
class CudaError : public Error {
 public:
  using Error::Error;
};
/// A file that is missing, damaged or cannot be written.
class FileError : public Error {
 public:
  using Error::Error;
};
/// Memory that the limit or the system does not give; the request and the limit are in the text.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

namespace detail {
/// Joins what a stream would print. The streams are in error.cpp: their headers are large, and so
/// no part of every file.
class Text {
 public:
  Text& operator<<(bool x);
  Text& operator<<(char x);
  Text& operator<<(int x);
  Text& operator<<(long x);
  Text& operator<<(long long x);
  Text& operator<<(unsigned x);
  Text& operator<<(unsigned long x);
  Text& operator<<(unsigned long long x);
  Text& operator<<(float x);
  Text& operator<<(double x);
  Text& operator<<(const char* x);
  Text& operator<<(char* x) { return *this << static_cast<const char*>(x); }
  Text& operator<<(const std::string& x);
  /// What has an operator<< of its own.
  template <class T>
  Text& operator<<(const T& x) {
    return print([](std::ostream& out, const void* it) { out << *static_cast<const T*>(it); }, &x);
  }
  const std::string& string() const { return text_; }

 private:
  Text& print(void (*to)(std::ostream& out, const void* it), const void* it);

  std::string text_;
};

template <class... Parts>
std::string concat(const Parts&... parts) {
  Text text;
  (text << ... << parts);
  return text.string();
}
template <class E, class... Parts>
[[noreturn]] __attribute__((noinline, cold)) void fail(const Parts&... parts) {
  throw E(concat(parts...));
}
}  // namespace detail

/// Throws E, whose message is the parts joined, unless `ok`.
template <class E, class... Parts>
void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    detail::fail<E>(parts...);
}

}  // namespace accrue
