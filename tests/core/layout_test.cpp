#include <functional>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/layout.h>

namespace accrue {
namespace {

/// Where the elements of a layout lie, in row-major order of its indices.
std::vector<int64_t> places(const Layout& x) {
  std::vector<int64_t> out;
  Dims index = Dims::filled(x.rank(), 0);
  for (int64_t n = x.numel(); n > 0; --n) {
    int64_t at = x.offset;
    for (int d = 0; d < x.rank(); ++d) at += index[d] * x.strides[d];
    out.push_back(at);
    for (int d = x.rank() - 1; d >= 0 && ++index[d] == x.shape[d]; --d) index[d] = 0;
  }
  return out;
}

/// The same by the definition of a view: for each index of `shape`, the place of the index of x
/// that `source` names.
std::vector<int64_t> expected(const Layout& x, const Dims& shape,
                              const std::function<Dims(Dims)>& source) {
  std::vector<int64_t> out;
  Dims index = Dims::filled(shape.size(), 0);
  for (int64_t n = numel(shape); n > 0; --n) {
    const Dims from = source(index);
    int64_t at = x.offset;
    for (int d = 0; d < x.rank(); ++d) at += from[d] * x.strides[d];
    out.push_back(at);
    for (int d = shape.size() - 1; d >= 0 && ++index[d] == shape[d]; --d) index[d] = 0;
  }
  return out;
}

/// Random chains of views; the seed is printed when a test fails.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine_); }

  Layout layout(bool with_expand) {
    Dims shape;
    for (int64_t d = below(4); d >= 0; --d) shape.push_back(1 + below(4));
    Layout x = layout::contiguous(shape);
    for (int64_t views = below(4); views > 0; --views) x = view_of(x, with_expand);
    return x;
  }

  Layout view_of(const Layout& x, bool with_expand) {
    if (x.rank() == 0) return layout::unsqueeze(x, 0);
    const int64_t d = below(x.rank());
    const int64_t n = x.shape[static_cast<int>(d)];
    switch (below(with_expand ? 6 : 5)) {
      case 0:
        return layout::transpose(x, d, below(x.rank()));
      case 1:
        return layout::slice(x, d, below(n + 1), n, 1 + below(3));
      case 2:
        return x.rank() < 5 ? layout::unsqueeze(x, below(x.rank() + 1)) : layout::squeeze(x);
      case 3:
        return n > 0 ? layout::select(x, d, below(n)) : x;
      case 4:
        return layout::try_reshape(x, factors(x.numel())).value_or(x);
      default: {
        Dims shape = x.shape;
        for (int i = 0; i < x.rank(); ++i)
          if (shape[i] == 1) shape[i] = 1 + below(3);
        return layout::expand(x, shape);
      }
    }
  }

  /// A random shape with n elements, ones among them.
  Dims factors(int64_t n) {
    if (n == 0) return {2, 0};
    Dims shape;
    while (shape.size() < 5 && (n > 1 || below(3) == 0)) {
      int64_t f = 1 + below(n);
      while (n % f != 0) --f;
      shape.push_back(f);
      n /= f;
    }
    if (n > 1) shape.push_back(n);
    return shape;
  }

 private:
  std::mt19937 engine_;
};

const Layout kBase = layout::slice(layout::contiguous({4, 1, 6, 3}), 2, 1, 6, 2);  // [4, 1, 3, 3]

TEST(Layout, PermuteReordersIndices) {
  const Layout y = layout::permute(kBase, {3, 0, -2, 1});
  EXPECT_EQ(y.shape, (Dims{3, 4, 3, 1}));
  EXPECT_EQ(places(y), expected(kBase, y.shape, [](Dims i) {
              return Dims{i[1], i[3], i[2], i[0]};
            }));
  EXPECT_THROW(layout::permute(kBase, {0, 1, 2}), ShapeError);
  EXPECT_THROW(layout::permute(kBase, {0, 1, 2, 2}), ShapeError);
  EXPECT_THROW(layout::permute(kBase, {0, 1, 2, -4}), ShapeError);
  EXPECT_THROW(layout::permute(kBase, {0, 1, 2, 4}), ShapeError);
}

TEST(Layout, TransposeSwapsTwo) {
  const Layout y = layout::transpose(kBase, 0, -1);
  EXPECT_EQ(y.shape, (Dims{3, 1, 3, 4}));
  EXPECT_EQ(places(y), expected(kBase, y.shape, [](Dims i) {
              return Dims{i[3], i[1], i[2], i[0]};
            }));
  EXPECT_THROW(layout::transpose(kBase, 0, 4), ShapeError);
}

TEST(Layout, SliceFollowsPython) {
  const Layout x = layout::contiguous({2, 7});
  // every start, end and step against the loop that defines them
  for (int64_t start = -9; start <= 9; ++start)
    for (int64_t end = -9; end <= 9; ++end)
      for (int64_t step = 1; step <= 9; ++step) {
        const auto resolve = [](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + 7 : i, 0, 7); };
        std::vector<int64_t> taken;
        for (int64_t i = resolve(start); i < resolve(end); i += step) taken.push_back(i);
        const Layout y = layout::slice(x, 1, start, end, step);
        ASSERT_EQ(y.shape, (Dims{2, static_cast<int64_t>(taken.size())}));
        ASSERT_EQ(places(y), expected(x, y.shape, [&](Dims i) {
                    return Dims{i[0], taken[static_cast<size_t>(i[1])]};
                  }));
      }
  EXPECT_EQ(layout::slice(x, 0, INT64_MIN, INT64_MAX, INT64_MAX).shape, (Dims{1, 7}));
  EXPECT_THROW(layout::slice(x, 0, 0, 2, 0), ShapeError);
  EXPECT_THROW(layout::slice(x, 0, 0, 2, -1), ShapeError);
}

TEST(Layout, NarrowMustLieInside) {
  const Layout y = layout::narrow(kBase, 0, 1, 2);
  EXPECT_EQ(places(y), expected(kBase, {2, 1, 3, 3}, [](Dims i) {
              return Dims{i[0] + 1, i[1], i[2], i[3]};
            }));
  EXPECT_EQ(layout::narrow(kBase, 0, -1, 1).offset, layout::narrow(kBase, 0, 3, 1).offset);
  EXPECT_EQ(layout::narrow(kBase, 0, 4, 0).shape[0], 0);
  EXPECT_THROW(layout::narrow(kBase, 0, 3, 2), ShapeError);
  EXPECT_THROW(layout::narrow(kBase, 0, 5, 0), ShapeError);
  EXPECT_THROW(layout::narrow(kBase, 0, 0, -1), ShapeError);
  EXPECT_THROW(layout::narrow(kBase, 0, 1, INT64_MAX), ShapeError);
}

TEST(Layout, SelectDropsADimension) {
  const Layout y = layout::select(kBase, 2, -1);
  EXPECT_EQ(y.shape, (Dims{4, 1, 3}));
  EXPECT_EQ(places(y), expected(kBase, y.shape, [](Dims i) { return Dims{i[0], i[1], 2, i[2]}; }));
  EXPECT_THROW(layout::select(kBase, 2, 3), IndexError);
  EXPECT_THROW(layout::select(kBase, 2, -4), IndexError);
}

TEST(Layout, ExpandRepeatsOnlyOnes) {
  const Layout y = layout::expand(kBase, {2, 4, 5, -1, 3});
  EXPECT_EQ(y.shape, (Dims{2, 4, 5, 3, 3}));
  EXPECT_EQ(places(y), expected(kBase, y.shape, [](Dims i) { return Dims{i[1], 0, i[3], i[4]}; }));
  EXPECT_EQ(layout::expand(kBase, {4, 0, 3, 3}).numel(), 0);
  EXPECT_THROW(layout::expand(kBase, {4, 1, 3, 6}), ShapeError);
  EXPECT_THROW(layout::expand(kBase, {1, 3, 3}), ShapeError);
  EXPECT_THROW(layout::expand(kBase, {-1, 4, 1, 3, 3}), ShapeError);
}

TEST(Layout, SqueezeAndUnsqueezeKeepTheElements) {
  EXPECT_EQ(layout::squeeze(kBase).shape, (Dims{4, 3, 3}));
  EXPECT_EQ(layout::squeeze(kBase, 1).shape, (Dims{4, 3, 3}));
  EXPECT_EQ(layout::squeeze(kBase, 0).shape, kBase.shape);
  EXPECT_EQ(places(layout::squeeze(kBase)), places(kBase));
  for (int64_t d = -5; d <= 4; ++d) {
    const Layout y = layout::unsqueeze(kBase, d);
    EXPECT_EQ(y.shape[static_cast<int>(d < 0 ? d + 5 : d)], 1);
    EXPECT_EQ(places(y), places(kBase));
  }
  EXPECT_THROW(layout::unsqueeze(kBase, 5), ShapeError);
  EXPECT_THROW(layout::squeeze(layout::contiguous({}), 0), ShapeError);
  EXPECT_THROW(layout::unsqueeze(layout::contiguous({1, 1, 1, 1, 1, 1, 1, 1}), 0), ShapeError);
}

TEST(Layout, ContiguousMeansPlacesInOrder) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Layout x = Random(seed).layout(true);
    std::vector<int64_t> dense = places(x);
    for (size_t i = 0; i < dense.size(); ++i) dense[i] = x.offset + static_cast<int64_t>(i);
    ASSERT_EQ(layout::is_contiguous(x), places(x) == dense) << "seed " << seed;
  }
}

TEST(Layout, OverlapMeansAPlaceTwice) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    const Layout x = Random(seed).layout(true);
    const auto all = places(x);
    const std::set<int64_t> unique(all.begin(), all.end());
    ASSERT_EQ(layout::has_overlap(x), unique.size() != all.size()) << "seed " << seed;
  }
}

TEST(Layout, ForEachOffsetVisitsInRowMajorOrder) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Layout x = Random(seed).layout(true);
    std::vector<int64_t> visited;
    layout::for_each_offset(x, [&](int64_t at) { visited.push_back(x.offset + at); });
    ASSERT_EQ(visited, places(x)) << "seed " << seed;
  }
}

/// Whether strides for `shape` exist that reach these places, and then no others can.
bool can_be_strided(const std::vector<int64_t>& at, const Dims& shape) {
  Layout y{.shape = shape, .strides = Dims::filled(shape.size(), 0), .offset = at[0]};
  int64_t inner = 1;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (shape[d] > 1) y.strides[d] = at[static_cast<size_t>(inner)] - at[0];
    inner *= shape[d];
  }
  return places(y) == at;
}

TEST(Layout, ReshapeIsAViewExactlyWhenStridesExist) {
  int views = 0;
  int copies = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    const Layout x = random.layout(true);
    const Dims shape = random.factors(x.numel());
    const auto y = layout::try_reshape(x, shape);
    if (y) {
      ASSERT_EQ(y->shape, shape);
      ASSERT_EQ(places(*y), places(x)) << "seed " << seed;
    } else {
      ASSERT_FALSE(can_be_strided(places(x), shape)) << "seed " << seed << x.shape << shape;
    }
    ++(y ? views : copies);
  }
  EXPECT_GT(views, 2000);
  EXPECT_GT(copies, 2000);
}

TEST(Layout, InferShapeWorksOneSizeOut) {
  EXPECT_EQ(layout::infer_shape("reshape", {2, 6}, {3, -1}), (Dims{3, 4}));
  EXPECT_EQ(layout::infer_shape("reshape", {}, {-1}), (Dims{1}));
  EXPECT_EQ(layout::infer_shape("reshape", {0, 3}, {3, -1}), (Dims{3, 0}));
  EXPECT_EQ(layout::infer_shape("reshape", {0, 3}, {0}), (Dims{0}));
  EXPECT_THROW(layout::infer_shape("reshape", {2, 6}, {-1, -1}), ShapeError);
  EXPECT_THROW(layout::infer_shape("reshape", {2, 6}, {5, -1}), ShapeError);
  EXPECT_THROW(layout::infer_shape("reshape", {2, 6}, {11}), ShapeError);
  EXPECT_THROW(layout::infer_shape("reshape", {2, 6}, {-2, 6}), ShapeError);
  EXPECT_THROW(layout::infer_shape("reshape", {0}, {0, -1}), ShapeError);
  EXPECT_THROW(layout::infer_shape("reshape", {4}, {int64_t{1} << 62, 8}), ShapeError);
}

}  // namespace
}  // namespace accrue
