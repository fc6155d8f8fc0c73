// Correct kernels are right and silent under every schedule, and those without float atomics give
// the same bits under all of them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/simt/cases.h"
#include "tests/simt/support.h"

namespace {

class Control : public SimtTest, public testing::WithParamInterface<NamedSchedule> {
 protected:
  void SetUp() override {
    SimtTest::SetUp();
    accrue::simt::set_schedule(GetParam().schedule);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  }
  void TearDown() override {
    cudaStreamDestroy(stream);
    SimtTest::TearDown();
  }
  cudaStream_t stream = nullptr;
};

TEST_P(Control, BarriersExchangeValuesOfABlock) {
  std::vector<float> x = some_floats(64);
  const OnDevice<float> on(x);
  controls::reverse_64(on.data(), stream);
  std::reverse(x.begin(), x.end());
  EXPECT_EQ(on.get(), x);
}

TEST_P(Control, SyncwarpOrdersTheLanesOfAWarp) {
  std::vector<float> x(32);
  std::iota(x.begin(), x.end(), 1.0F);
  const OnDevice<float> on(x);
  controls::warp_tree_sum(on.data(), stream);
  EXPECT_EQ(on.get()[0], 528);
}

TEST_P(Control, VectorsAndWhatIsLeft) {
  for (const size_t n : {1U, 3U, 4U, 33U, 1000U, 4099U}) {
    const std::vector<float> a = some_floats(n), b(n, 0.5F);
    const OnDevice<float> on_a(a), on_b(b), y(n);
    controls::add(y.data(), on_a.data(), on_b.data(), static_cast<long>(n), stream);
    const std::vector<float> got = y.get();
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], a[i] + 0.5F) << i << " of " << n;
  }
}

TEST_P(Control, SumByWarpsAndBlocks) {
  for (const size_t n : {1U, 33U, 1000U, 5000U}) {
    std::vector<float> x(n);
    std::iota(x.begin(), x.end(), 0.0F);  // sums of these are exact
    const OnDevice<float> on(x), partial(64), out(1);
    controls::sum(out.data(), partial.data(), on.data(), static_cast<long>(n), stream);
    const size_t sum = n * (n - 1) / 2;
    EXPECT_EQ(out.get()[0], static_cast<float>(sum));
  }
}

TEST_P(Control, PrefixSumByShuffles) {
  const OnDevice<int> x(std::vector<int>(32, 3));
  controls::prefix_sum_of_warp(x.data(), stream);
  const std::vector<int> got = x.get();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], 3 * (i + 1));
}

TEST_P(Control, VotesOfAWholeWarpAndOfPartOfOne) {
  std::vector<int> x(32, 1);
  x[4] = 0;
  const OnDevice<int> on(x);
  for (const int block : {32, 20, 3}) {
    const OnDevice<unsigned> out(5);
    controls::votes(out.data(), on.data(), block, stream);
    const unsigned lanes = block == 32 ? ~0U : (1U << block) - 1;
    const unsigned yes = lanes & ~16U;
    const auto count = static_cast<unsigned>(__builtin_popcount(yes));
    EXPECT_EQ(out.get(), (std::vector<unsigned>{yes, 1, yes == lanes, count, count}));
  }
}

TEST_P(Control, AtomicsCountAndFindTheMaximum) {
  std::vector<int> index(300);
  for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int>(i % 7);
  const OnDevice<int> on_index(index), counts(std::vector<int>(7, 0));
  controls::histogram(counts.data(), on_index.data(), 300, stream);
  EXPECT_EQ(counts.get(), (std::vector<int>{43, 43, 43, 43, 43, 43, 42}));

  const std::vector<float> x = some_floats(1000);
  const OnDevice<float> on_x(x), out(std::vector<float>{0});
  controls::maximum(out.data(), on_x.data(), 1000, stream);
  EXPECT_EQ(out.get()[0], *std::max_element(x.begin(), x.end()));
}

TEST_P(Control, BytesOfOneWordBelongToDifferentThreads) {
  const OnDevice<unsigned char> x(201);
  controls::bytes_side_by_side(x.data(), 201, stream);
  const auto got = x.get();
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i);
}

TEST_P(Control, TwoByteStoresThroughDynamicSharedMemory) {
  for (const size_t n : {1U, 33U, 1000U}) {
    const std::vector<float> x = some_floats(n);
    const OnDevice<float> on(x);
    const OnDevice<unsigned short> y(n);
    controls::to_bfloat16(y.data(), on.data(), static_cast<long>(n), stream);
    const auto got = y.get();
    for (size_t i = 0; i < n; ++i) {
      const uint32_t bits = static_cast<uint32_t>(got[i]) << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      ASSERT_NEAR(value, x[i], std::abs(x[i]) / 256);
    }
  }
}

TEST_P(Control, ConstantsAreReadable) {
  const OnDevice<int> index(std::vector<int>{6, 0, 3});
  const OnDevice<float> y(3);
  controls::table_lookup(y.data(), index.data(), 3, stream);
  EXPECT_EQ(y.get(), (std::vector<float>{36, 0, 9}));
}

TEST_P(Control, AWordOfSharedMemoryChangesHandsEachRound) {
  const OnDevice<int> out(96);
  controls::last_thread_tells_all(out.data(), stream);
  EXPECT_EQ(out.get(), std::vector<int>(96, 0 + 1 + 2 + 3 + 4));
}

TEST_P(Control, SoftmaxOfRows) {
  for (const auto& [rows, cols] : {std::pair(1, 1), {3, 5}, {4, 33}, {2, 1000}}) {
    const std::vector<float> x = some_floats(static_cast<size_t>(rows * cols));
    const OnDevice<float> on(x), y(x.size());
    controls::softmax(y.data(), on.data(), rows, cols, stream);
    const std::vector<float> got = y.get();
    for (int r = 0; r < rows; ++r) {
      const auto row = static_cast<size_t>(r) * static_cast<size_t>(cols);
      double total = 0;
      for (int c = 0; c < cols; ++c) total += std::exp(double{x[row + static_cast<size_t>(c)]});
      for (int c = 0; c < cols; ++c) {
        const size_t i = row + static_cast<size_t>(c);
        ASSERT_NEAR(got[i], std::exp(double{x[i]}) / total, 1e-6);
      }
    }
  }
}

TEST_P(Control, LayerNormOfRowsHasMeanZeroAndVarianceOne) {
  const int rows = 3, cols = 200;
  const std::vector<float> x = some_floats(rows * cols);
  const OnDevice<float> on(x), y(x.size());
  controls::layer_norm(y.data(), on.data(), rows, cols, stream);
  const std::vector<float> got = y.get();
  for (size_t r = 0; r < rows; ++r) {
    double sum = 0, squares = 0;
    for (size_t c = 0; c < cols; ++c) {
      sum += got[r * cols + c];
      squares += got[r * cols + c] * got[r * cols + c];
    }
    EXPECT_NEAR(sum / cols, 0, 1e-5);
    EXPECT_NEAR(squares / cols, 1, 1e-4);
  }
}

TEST_P(Control, ColumnSumsOfATile) {
  const int rows = 21, cols = 50;
  std::vector<float> x(rows * cols);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % cols);
  const OnDevice<float> on(x), out(cols);
  controls::column_sums(out.data(), on.data(), rows, cols, stream);
  const std::vector<float> got = out.get();
  for (size_t c = 0; c < cols; ++c) EXPECT_EQ(got[c], 21 * static_cast<float>(c));
}

TEST_P(Control, TiledProductWithRaggedEdges) {
  const int m = 17, n = 33, k = 20;
  const std::vector<float> a = some_floats(m * k), b = some_floats(k * n);
  const OnDevice<float> on_a(a), on_b(b), c(m * n);
  controls::matmul(c.data(), on_a.data(), on_b.data(), m, n, k, stream);
  const std::vector<float> got = c.get();
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t p = 0; p < k; ++p) sum += double{a[i * k + p]} * b[p * n + j];
      ASSERT_NEAR(got[i * n + j], sum, 1e-3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Simt, Control, testing::ValuesIn(all_schedules()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
