// What the tests of optim share: leaves with given gradients, and a restored thread count.
#pragma once
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/kernels/cpu/parallel.h>

#include <accrue/autograd/grad.h>

namespace accrue::test {

inline Tensor leaf(const Tensor& value) {
  Tensor w = value;
  w.set_requires_grad();
  return w;
}
inline Tensor leaf(std::initializer_list<double> values, DType dtype = DType::float64) {
  return leaf(tensor(values, dtype));
}
inline void give(const Tensor& w, std::initializer_list<double> g) {
  set_grad(w, tensor(g, w.shape(), DType::float64));
}
inline std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

/// The text of the exception that f throws.
template <class E>
std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another type: ") + error.what();
  }
  return "nothing was thrown";
}

struct Threads {
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  const int before = get_num_threads();
};

}  // namespace accrue::test
