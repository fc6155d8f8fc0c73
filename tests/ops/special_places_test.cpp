// Sums of some elements, where the others must not notice: NaN and infinities in a running sum, a
// convolution and what an index picks.
#include "tests/ops/special_values.h"

#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

std::vector<double> ramp(int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>(i % 7 + 1) / 4);
  return v;
}
void expect_values(const Tensor& got, const std::vector<double>& right, const char* what) {
  const std::vector<double> v = values(got);
  ASSERT_EQ(v.size(), right.size()) << what;
  for (size_t i = 0; i < v.size(); ++i)
    ASSERT_TRUE(is(v[i], right[i], got.dtype())) << what << ", element " << i;
}

TEST(SpecialPlaces, ARunningSumKeepsWhatItMetInItsRowAndToNeitherSide) {
  for (DType t : {DType::float32, DType::float64})
    for (int64_t n : lengths())
      for (int64_t at : {int64_t{0}, n / 2, n - 1})
        for (double special : {kNan, kInf, -kInf})
          for (bool across : {false, true}) {
            SCOPED_TRACE(std::to_string(special) + " at " + std::to_string(at) + " of " +
                         std::to_string(n) + (across ? ", down a column, " : ", along a row, ") +
                         accrue::name_of(t));
            const auto begin = static_cast<size_t>(n), i = static_cast<size_t>(n + at);
            std::vector<double> x = ramp(2 * n);
            x[i] = special;
            std::vector<double> y = x, dx = x;
            for (size_t k = 1; k < 2 * begin; ++k)
              if (k != begin) y[k] += y[k - 1];
            for (size_t k = 2 * begin - 1; k-- > 0;)
              if (k != begin - 1) dx[k] += dx[k + 1];
            const auto laid = [&](const Tensor& v) {
              return across ? contiguous(transpose(v, 0, 1)) : v;
            };
            const Tensor leaf = laid(make(x, {2, n}, t)).set_requires_grad();
            const Tensor sums = cumsum(leaf, across ? 0 : 1);
            sums.backward({.gradient = laid(make(x, {2, n}, t))});
            expect_values(across ? transpose(sums, 0, 1) : sums, y, "y");
            expect_values(across ? transpose(leaf.grad(), 0, 1) : leaf.grad(), dx, "dx");
          }
}

TEST(SpecialPlaces, OppositeInfinitiesOfARunningSumAreNanFromTheSecondOn) {
  for (int64_t n : lengths()) {
    std::vector<double> x(static_cast<size_t>(n), 1.0), y;
    x[1] = kInf;
    x[static_cast<size_t>(n - 1)] = -kInf;
    for (size_t i = 0; i < x.size(); ++i) y.push_back(i == 0 ? 1 : kInf);
    y.back() = kNan;
    expect_values(cumsum(make(x, {n}, DType::float32), 0), y, "y");
  }
  const double big = most(DType::float32);  // summed in double: the infinity is the result's alone
  expect_values(cumsum(make({big, big, -big, -big}, {4}, DType::float32), 0), {big, kInf, big, 0},
                "y");
}

std::vector<double> zeros_like(const std::vector<double>& v) {
  return std::vector<double>(v.size());
}
/// A convolution by its definition, 3x3 with a zero around: y, dx and dw are sums over what lies
/// inside the images. Where something not finite meets a zero around one, nothing is promised.
struct Convolution {
  int64_t groups, h, w;  ///< of 2 images, 2 channels to 3 in each group
  std::vector<double> x = ramp(2 * groups * 2 * h * w);
  std::vector<double> weight = ramp(groups * 3 * 2 * 9);
  std::vector<double> dy = ramp(2 * groups * 3 * h * w);
  std::vector<double> y = zeros_like(dy), dx = zeros_like(x), dw = zeros_like(weight);
  std::vector<double> db = std::vector<double>(static_cast<size_t>(3 * groups));

  void run() {
    std::vector<double> around_y = zeros_like(y), around_dx = zeros_like(dx),
                        around_dw = zeros_like(dw);
    const auto inside = [&](int64_t i, int64_t j) { return i >= 0 && i < h && j >= 0 && j < w; };
    for (int64_t plane = 0; plane < 2 * groups * 3; ++plane)
      for (int64_t i = -1; i <= h; ++i)
        for (int64_t j = -1; j <= w; ++j)
          for (int64_t k = 0; k < 2 * 9; ++k) {
            const int64_t row = i + k / 3 % 3 - 1, column = j + k % 3 - 1;
            const int64_t channel = plane % (3 * groups);
            const auto to = static_cast<size_t>((plane * h + i) * w + j);
            const auto from = static_cast<size_t>(((plane / 3 * 2 + k / 9) * h + row) * w + column);
            const auto tap = static_cast<size_t>(channel * 2 * 9 + k);
            if (inside(i, j) && inside(row, column)) {
              y[to] += weight[tap] * x[from];
              dx[from] += weight[tap] * dy[to];
              dw[tap] += dy[to] * x[from];
            } else if (inside(i, j)) {
              around_y[to] += weight[tap] * 0;
              around_dw[tap] += dy[to] * 0;
            } else if (inside(row, column)) {
              around_dx[from] += weight[tap] * 0;
            }
            if (inside(i, j) && k == 0) db[static_cast<size_t>(channel)] += dy[to];
          }
    for (size_t i = 0; i < y.size(); ++i) y[i] = std::isnan(around_y[i]) ? kFree : y[i];
    for (size_t i = 0; i < dx.size(); ++i) dx[i] = std::isnan(around_dx[i]) ? kFree : dx[i];
    for (size_t i = 0; i < dw.size(); ++i) dw[i] = std::isnan(around_dw[i]) ? kFree : dw[i];
  }
};

TEST(SpecialPlaces, AConvolutionKeepsWhatIsNotFiniteAmongThoseThatTouchIt) {
  for (DType t : {DType::float32, DType::float64})
    for (int64_t groups : {1, 2})
      for (int64_t width : {3, 6, 19})
        for (double special : {kNan, kInf})
          for (const auto which : {&Convolution::x, &Convolution::weight, &Convolution::dy})
            for (int place : {0, 1, 2}) {
              Convolution c{groups, 4, width};
              std::vector<double>& v = c.*which;
              const size_t at = place * (v.size() - 1) / 2;
              v[at] = special;
              SCOPED_TRACE(std::to_string(special) + " in " +
                           (which == &Convolution::x        ? "x"
                            : which == &Convolution::weight ? "w"
                                                            : "dy") +
                           ", element " + std::to_string(at) + ", groups " +
                           std::to_string(groups) + ", width " + std::to_string(width) + ", " +
                           accrue::name_of(t));
              c.run();
              const Tensor x = make(c.x, {2, 2 * groups, 4, width}, t).set_requires_grad();
              const Tensor w = make(c.weight, {3 * groups, 2, 3, 3}, t).set_requires_grad();
              const Tensor b = zeros({3 * groups}, t).set_requires_grad();
              const Tensor y = conv2d(x, w, b, {.padding = {1, 1}, .groups = groups});
              y.backward({.gradient = make(c.dy, y.shape(), t)});
              expect_values(y, c.y, "y");
              expect_values(x.grad(), c.dx, "dx");
              expect_values(w.grad(), c.dw, "dw");
              expect_values(b.grad(), c.db, "db");
            }
}

/// Rows that are picked or added to: row `to` of y takes row `from` of x, once for each pair.
struct PlaceTable {
  const char* op;
  Tensor (*f)(const Tensor& x);
  std::vector<double> base;                        ///< what each row of y has besides
  std::vector<std::pair<size_t, size_t>> to_from;  ///< 4 rows of x
  size_t padding = 9;                              ///< the row of x that takes no gradient
};
/// Places 2, 0, 2; as a vector, or one for each element of rows of x.
Tensor places() { return tensor({2, 0, 2}, DType::int64); }
Tensor places_like(const Tensor& x) { return expand(reshape(places(), {3, 1}), {3, x.size(1)}); }
Tensor ones_like(const Tensor& x, int64_t rows) { return ones({rows, x.size(1)}, x.dtype()); }

std::vector<PlaceTable> place_tables() {
  const std::vector<std::pair<size_t, size_t>> picked = {{0, 2}, {1, 0}, {2, 2}};
  const std::vector<std::pair<size_t, size_t>> added = {{2, 0}, {0, 1}, {2, 2}};
  const std::vector<std::pair<size_t, size_t>> same = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  const std::vector<double> none = {0, 0, 0}, one = {1, 1, 1, 1}, counts = {1, 0, 2, 0};
  return {
      {"index_select", [](const Tensor& x) { return index_select(x, 0, places()); }, none, picked},
      {"gather", [](const Tensor& x) { return gather(x, 0, places_like(x)); }, none, picked},
      {"embedding", [](const Tensor& x) { return embedding(x, places()); }, none, picked},
      {"embedding, padded", [](const Tensor& x) { return embedding(x, places(), 0); }, none, picked,
       0},
      {"index_add, x", [](const Tensor& x) { return index_add(x, 0, places(), ones_like(x, 3)); },
       counts, same},
      {"index_add, src",
       [](const Tensor& x) { return index_add(ones_like(x, 4), 0, places(), narrow(x, 0, 0, 3)); },
       one, added},
      {"scatter_add, x",
       [](const Tensor& x) { return scatter_add(x, 0, places_like(x), ones_like(x, 3)); }, counts,
       same},
      {"scatter_add, src",
       [](const Tensor& x) { return scatter_add(ones_like(x, 4), 0, places_like(x), x); }, one,
       added},
  };
}

TEST(SpecialPlaces, WhatIsNotFiniteGoesWhereAnIndexSendsIt) {
  const std::vector<std::vector<double>> columns = {
      {kNan, 1, 1, 1}, {1, kNan, 1, 1},  {1, 1, kNan, 1},           {1, 1, 1, kNan},
      {kInf, 1, 1, 1}, {1, 1, -kInf, 1}, {kInf, -kInf, -kInf, kInf}};
  for (DType t : {DType::float32, DType::float64})
    for (const PlaceTable& table : place_tables())
      for (const std::vector<double>& column : columns)
        for (int64_t n : lengths())
          for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
            SCOPED_TRACE(std::string(table.op) + ", column " + std::to_string(at) + " of " +
                         std::to_string(n) + ", " + accrue::name_of(t));
            const size_t rows = table.base.size(), width = static_cast<size_t>(n);
            std::vector<double> x(4 * width, 1), dy(rows * width, 1);
            std::vector<double> y(dy.size()), dx(x.size());
            for (size_t r = 0; r < 4; ++r) x[r * width + static_cast<size_t>(at)] = column[r];
            for (size_t r = 0; r < rows; ++r) dy[r * width + static_cast<size_t>(at)] = column[r];
            for (size_t i = 0; i < y.size(); ++i) y[i] = table.base[i / width];
            for (const auto& [to, from] : table.to_from)
              for (size_t j = 0; j < width; ++j) {
                y[to * width + j] += x[from * width + j];
                if (from != table.padding) dx[from * width + j] += dy[to * width + j];
              }
            const Tensor leaf = make(x, {4, n}, t).set_requires_grad();
            const Tensor result = table.f(leaf);
            result.backward({.gradient = make(dy, result.shape(), t)});
            expect_values(result, y, "y");
            expect_values(leaf.grad(), dx, "dx");
          }
}

}  // namespace
}  // namespace accrue::testing
