// What the tests of nn share.
#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/nn/module.h>

namespace accrue::test {

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

inline std::vector<std::string> names_of(const std::vector<NamedTensor>& list) {
  std::vector<std::string> names;
  for (const NamedTensor& x : list) names.push_back(x.name);
  return names;
}

/// Largest |element|, mean and standard deviation.
struct Moments {
  double most = 0, mean = 0, std = 0;
};
inline Moments moments(const Tensor& x) {
  Moments m;
  const std::vector<double> all = values(x);
  const auto n = static_cast<double>(all.size());
  for (const double v : all) {
    m.most = std::max(m.most, std::abs(v));
    m.mean += v / n;
  }
  for (const double v : all) m.std += (v - m.mean) * (v - m.mean) / n;
  m.std = std::sqrt(m.std);
  return m;
}

inline void expect_near(const std::vector<double>& got, const std::vector<double>& expected,
                        double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}

}  // namespace accrue::test
