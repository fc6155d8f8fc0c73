// The law of the matrix product, against a plain triple loop: bit for bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/half.h>

#include <accrue/kernels/cpu/gemm.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/targets.h>

namespace {

using accrue::bfloat16;
using accrue::float16;
using accrue::kernels::cpu::Gemm;
using accrue::kernels::cpu::gemm;
using accrue::kernels::cpu::limit_simd_target;
using accrue::kernels::cpu::Matrix;
using accrue::kernels::cpu::simd_target;
using accrue::kernels::cpu::Start;

template <class T>
using Chain = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Whether the instructions in use fuse multiply and add; without, the product is rounded first.
bool is_fused = true;

template <class T>
T multiply_add(T a, T b, T sum) {
  if (is_fused) return std::fma(a, b, sum);
  const volatile T product = a * b;
  return product + sum;
}

template <class In, class Out>
void reference(const Gemm<In, Out>& g) {
  for (int64_t t = 0; t < g.batches; ++t) {
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        Out& c = g.c.data[t * g.c.batch + i * g.c.row + j * g.c.col];
        Chain<In> sum = 0;
        if (g.start == Start::old) sum = static_cast<Chain<In>>(c);
        if (g.start == Start::bias) sum = static_cast<Chain<In>>(g.bias[j * g.bias_stride]);
        for (int64_t p = 0; p < g.k; ++p) {
          sum = multiply_add(
              static_cast<Chain<In>>(g.a.data[t * g.a.batch + i * g.a.row + p * g.a.col]),
              static_cast<Chain<In>>(g.b.data[t * g.b.batch + p * g.b.row + j * g.b.col]), sum);
        }
        c = static_cast<Out>(sum);
      }
    }
  }
}

template <class T>
std::vector<T> random_values(size_t n, uint32_t seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(values(bits));
  return out;
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

// How a matrix lies in memory.
struct Lay {
  bool transposed = false;
  int64_t gap = 0;   // between rows (or columns, if transposed)
  int64_t step = 1;  // between neighbours
};

// A problem with its memory. Everything outside C's elements must survive, so whole buffers are
// compared.
template <class In, class Out>
struct Problem {
  Gemm<In, Out> g;
  std::vector<In> a, b, bias;
  std::vector<Out> c;

  Problem(int64_t m, int64_t n, int64_t k, Start start, Lay la = {}, Lay lb = {}, Lay lc = {},
          int64_t batches = 1, bool shared_b = false) {
    g.m = m, g.n = n, g.k = k, g.start = start, g.batches = batches, g.bias_stride = 2;
    a = random_values<In>(lay(g.a, m, k, la, batches), 1);
    b = random_values<In>(lay(g.b, k, n, lb, batches), 2);
    c = random_values<Out>(lay(g.c, m, n, lc, batches), 3);
    bias = random_values<In>(static_cast<size_t>(2 * n), 4);
    if (shared_b) g.b.batch = 0;
  }

  std::vector<Out> expected() const {
    return computed_by([](const auto& p) { reference(p); });
  }
  std::vector<Out> got() const {
    return computed_by([](const auto& p) { gemm(p); });
  }

 private:
  template <class T>
  static size_t lay(Matrix<T>& x, int64_t rows, int64_t cols, Lay lay, int64_t batches) {
    const int64_t line = (lay.transposed ? rows : cols) * lay.step + lay.gap;
    x.row = lay.transposed ? lay.step : line;
    x.col = lay.transposed ? line : lay.step;
    x.batch = (lay.transposed ? cols : rows) * line + lay.gap;
    return static_cast<size_t>(x.batch * batches);
  }
  std::vector<Out> computed_by(auto&& function) const {
    std::vector<Out> out = c;
    Gemm<In, Out> p = g;
    p.a.data = a.data(), p.b.data = b.data(), p.bias = bias.data(), p.c.data = out.data();
    function(p);
    return out;
  }
};

constexpr Start kStarts[] = {Start::zero, Start::old, Start::bias};

class GemmTest : public testing::Test {
 protected:
  void SetUp() override { use(""); }
  void TearDown() override {
    use("");
    accrue::set_num_threads(before_);
  }
  // From now on at most this instruction set; "": the best that the processor has.
  static void use(const char* set) {
    limit_simd_target(set);
    is_fused = std::string_view(simd_target()) != "baseline";
  }

 private:
  const int before_ = accrue::get_num_threads();
};

template <class In, class Out>
void random_shapes(int rounds, uint32_t seed) {
  const int64_t sizes[] = {0,  1,  2,  3,  5,  7,  8,  10, 13,  14, 15,
                           16, 17, 28, 31, 32, 33, 64, 65, 100, 257};
  const int64_t depths[] = {0, 1, 2, 3, 4, 7, 16, 17, 64, 100, 319, 320, 321, 700};
  std::mt19937 bits(seed);
  const auto pick = [&](const auto& from) { return from[bits() % std::size(from)]; };
  const auto lay = [&] {
    const bool strided = bits() % 8 == 0;
    return Lay{bits() % 2 == 0, static_cast<int64_t>(bits() % 3 * 5), strided ? 3 : 1};
  };
  for (int round = 0; round < rounds; ++round) {
    const Problem<In, Out> p(pick(sizes), pick(sizes), pick(depths), pick(kStarts), lay(), lay(),
                             lay());
    accrue::set_num_threads(static_cast<int>(1 + bits() % 3));
    ASSERT_TRUE(same_bits(p.got(), p.expected()))
        << "m " << p.g.m << " n " << p.g.n << " k " << p.g.k << " start "
        << static_cast<int>(p.g.start) << " a " << p.g.a.row << "," << p.g.a.col << " b "
        << p.g.b.row << "," << p.g.b.col << " c " << p.g.c.row << "," << p.g.c.col;
  }
}

TEST_F(GemmTest, FloatIsOneChainForAnyShapeAndLayout) { random_shapes<float, float>(600, 1); }
TEST_F(GemmTest, DoubleIsOneChainForAnyShapeAndLayout) { random_shapes<double, double>(400, 2); }
TEST_F(GemmTest, Bfloat16SumsInFloatAndRoundsOnce) {
  random_shapes<bfloat16, bfloat16>(150, 3);
  random_shapes<bfloat16, float>(150, 4);
}
TEST_F(GemmTest, Float16SumsInFloatAndRoundsOnce) {
  random_shapes<float16, float16>(150, 5);
  random_shapes<float16, float>(150, 6);
}

// One times each of the 65536 numbers, on either side of the product.
template <class In>
void all_numbers() {
  std::vector<In> numbers(65536);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i].bits = static_cast<uint16_t>(i);
  const In one(1.0F);
  for (const bool left : {true, false}) {
    Gemm<In, float> g{.m = left ? 65536 : 1, .n = left ? 1 : 65536, .k = 1};
    std::vector<float> got(65536);
    g.a = {left ? numbers.data() : &one, 1, 1};
    g.b = {left ? &one : numbers.data(), 1, 1};
    g.c = {got.data(), left ? 1 : 65536, 1};
    gemm(g);
    for (size_t i = 0; i < got.size(); ++i) {
      const float value = numbers[i];
      ASSERT_TRUE(got[i] == value || (std::isnan(got[i]) && std::isnan(value))) << i;
    }
  }
}

TEST_F(GemmTest, Every16BitNumberIsReadExactly) {
  for (const char* set : {"avx3", "avx2", "baseline"}) {
    use(set);
    all_numbers<bfloat16>();
    all_numbers<float16>();
  }
}

TEST_F(GemmTest, EveryInstructionSetKeepsTheLaw) {
  const Problem<float, float> p(65, 100, 700, Start::bias);
  const std::vector<float> best = p.got();
  for (const char* set : {"avx3", "avx2", "baseline"}) {
    use(set);
    random_shapes<float, float>(150, 7);
    random_shapes<double, double>(100, 8);
    random_shapes<bfloat16, bfloat16>(50, 9);
    random_shapes<float16, float>(50, 10);
    EXPECT_TRUE(!is_fused || same_bits(p.got(), best)) << set;
  }
}

TEST_F(GemmTest, AllTranspositionsAndStartsAtTrainingShapes) {
  const int64_t shapes[][3] = {{16, 512, 784}, {64, 10, 512}, {512, 784, 16}, {64, 512, 512},
                               {10, 512, 64},  {1, 300, 300}, {300, 1, 300}};
  for (const auto& [m, n, k] : shapes) {
    for (int form = 0; form < 8; ++form) {
      for (const Start start : kStarts) {
        const Problem<float, float> p(m, n, k, start, {.transposed = (form & 1) != 0},
                                      {.transposed = (form & 2) != 0},
                                      {.transposed = (form & 4) != 0});
        EXPECT_TRUE(same_bits(p.got(), p.expected())) << m << " " << n << " " << k << " " << form;
      }
    }
  }
}

TEST_F(GemmTest, RowsAFourKibibyteMultipleApart) {
  const Problem<float, float> p(40, 50, 1024, Start::zero, {}, {.transposed = true});
  EXPECT_TRUE(same_bits(p.got(), p.expected()));
}

TEST_F(GemmTest, CutsOfTheDepthGiveTheSameBits) {
  const Problem<float, float> whole(70, 90, 500, Start::zero);
  const std::vector<float> expected = whole.got();
  for (const int64_t cut : {1, 16, 64, 170, 499}) {
    Problem<float, float> pieces(70, 90, 500, Start::zero);
    std::vector<float> c(pieces.c.size());
    for (int64_t at = 0; at < 500; at += cut) {
      Gemm<float, float> g = pieces.g;
      g.start = at == 0 ? Start::zero : Start::old;
      g.k = std::min(cut, 500 - at);
      g.a.data = pieces.a.data() + at * g.a.col;
      g.b.data = pieces.b.data() + at * g.b.row;
      g.c.data = c.data();
      gemm(g);
    }
    EXPECT_TRUE(same_bits(c, expected)) << "cut at every " << cut;
  }
}

TEST_F(GemmTest, ARowDoesNotDependOnItsNeighbours) {
  const Problem<float, float> all(129, 77, 300, Start::bias);
  const std::vector<float> expected = all.got();
  for (const auto& [first, rows] :
       {std::pair<int64_t, int64_t>{0, 1}, {1, 16}, {17, 64}, {81, 48}}) {
    std::vector<float> c(static_cast<size_t>(rows * 77));
    Gemm<float, float> g = all.g;
    g.m = rows, g.a.data = all.a.data() + first * g.a.row, g.b.data = all.b.data();
    g.c.data = c.data(), g.bias = all.bias.data();
    gemm(g);
    EXPECT_EQ(std::memcmp(c.data(), expected.data() + first * 77, c.size() * sizeof(float)), 0);
  }
}

TEST_F(GemmTest, ThreadsGiveTheSameBits) {
  const Problem<float, float> wide(200, 500, 300, Start::old);
  const Problem<float, float> tall(900, 60, 300, Start::zero, {.transposed = true});
  const Problem<bfloat16, float> half(200, 300, 400, Start::bias);
  accrue::set_num_threads(1);
  const auto first = wide.got();
  const auto second = tall.got();
  const auto third = half.got();
  for (const int threads : {2, 3, 7}) {
    accrue::set_num_threads(threads);
    EXPECT_TRUE(same_bits(wide.got(), first)) << threads;
    EXPECT_TRUE(same_bits(tall.got(), second)) << threads;
    EXPECT_TRUE(same_bits(half.got(), third)) << threads;
  }
}

TEST_F(GemmTest, BatchesAreProductsOfTheirOwn) {
  for (const bool shared : {false, true}) {
    for (const Start start : kStarts) {
      for (const int64_t batches : {2, 3, 40}) {
        for (const int64_t gap : {0, 3}) {
          const Problem<float, float> p(33, 40, 50, start, {.gap = gap}, {}, {.gap = gap}, batches,
                                        shared);
          accrue::set_num_threads(2);
          EXPECT_TRUE(same_bits(p.got(), p.expected())) << batches << " " << shared << " " << gap;
        }
      }
    }
  }
}

TEST_F(GemmTest, RepeatedInputsByStrideZero) {
  Problem<float, float> p(20, 30, 40, Start::zero);
  p.g.a.row = 0;
  EXPECT_TRUE(same_bits(p.got(), p.expected()));
  p.g.b.col = 0;
  EXPECT_TRUE(same_bits(p.got(), p.expected()));
  p.g.a.col = p.g.b.row = 0;
  EXPECT_TRUE(same_bits(p.got(), p.expected()));
}

TEST_F(GemmTest, EmptyDepthLeavesTheStartValue) {
  for (const Start start : kStarts) {
    const Problem<float, float> p(5, 40, 0, start);
    EXPECT_TRUE(same_bits(p.got(), p.expected()));
  }
}

TEST_F(GemmTest, LargeProductsOfSeveralBlocks) {
  const Problem<float, float> p(150, 1300, 700, Start::old);
  EXPECT_TRUE(same_bits(p.got(), p.expected()));
  const Problem<bfloat16, bfloat16> gathered(2100, 40, 400, Start::bias);
  EXPECT_TRUE(same_bits(gathered.got(), gathered.expected()));
}

}  // namespace
