#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>

namespace accrue {
namespace {

/// 0 .. 11 as [3, 4].
Tensor grid(DType dtype = float32) { return arange(12, dtype).alias(layout::contiguous({3, 4})); }

TEST(Tensor, UndefinedIsNotATensor) {
  EXPECT_FALSE(Tensor().defined());
  EXPECT_TRUE(empty({}).defined());
}

TEST(Tensor, SaysWhatItIs) {
  const Tensor x = empty({2, 3, 4}, float64);
  EXPECT_EQ(x.dim(), 3);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.dtype(), float64);
  EXPECT_EQ(x.device(), Device::cpu());
  EXPECT_EQ(x.strides(), (Dims{12, 4, 1}));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(x.storage().bytes(), 192U);
  EXPECT_THROW(x.size(3), ShapeError);
}

TEST(Tensor, CopiesAndViewsShareMemoryAndVersion) {
  const Tensor x = grid();
  const Tensor copy = x;
  const Tensor row = x.alias(layout::select(x.layout(), 0, 1));
  EXPECT_TRUE(row.same_storage(x) && copy.same_storage(x));
  EXPECT_FALSE(grid().same_storage(x));
  row.data<float>()[2] = 50;
  EXPECT_EQ(x.at({1, 2}), 50);
  row.storage().bump_version();
  EXPECT_EQ(x.version(), 1U);
}

// Apart, or GCC 12 warns of the path on which x is no tensor.
[[gnu::noinline]] bool is_alone(const Tensor& x) { return x.sole_owner(); }

TEST(Tensor, SoleOwnerMeansNeitherCopyNorView) {
  const Tensor x = empty({4});
  EXPECT_TRUE(is_alone(x));
  {
    const Tensor copy = x;
    EXPECT_FALSE(is_alone(x));
  }
  EXPECT_TRUE(is_alone(x));
  const Tensor view = x.alias(layout::narrow(x.layout(), 0, 0, 2));
  EXPECT_FALSE(is_alone(x));
}

TEST(Tensor, ViewsReadThroughOffsetAndStrides) {
  const Tensor x = grid();
  const Tensor y = x.alias(layout::transpose(
      layout::slice(layout::narrow(x.layout(), 0, 1, 2), 1, 0, 4, 2), 0, 1));  // [2, 2]
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{4, 8, 6, 10}));
  EXPECT_EQ(y.to_vector<int64_t>(), (std::vector<int64_t>{4, 8, 6, 10}));
  EXPECT_EQ(y.at({1, 0}), 6);
  EXPECT_EQ(y.at({-1, -1}), 10);
  EXPECT_EQ(*y.data<float>(), 4);
  EXPECT_EQ(y.view().data, y.data<float>());
  EXPECT_EQ(y.view().strides, y.strides());
}

TEST(Tensor, EveryDtypeReadsBack) {
  for (const DType t : {float32, float64, DType::bfloat16, DType::float16, int64, int32, uint8})
    EXPECT_EQ(grid(t).to_vector<double>()[11], 11) << t;
  const Tensor flags = tensor({2, 0, -1}, DType::boolean);
  EXPECT_EQ(flags.to_vector<bool>(), (std::vector<bool>{true, false, true}));
}

TEST(Tensor, ValuesAreConvertedByOneRule) {
  const Tensor x = tensor({NAN, 1e30, -1e30, -2.7}, float32);
  EXPECT_EQ(x.to_vector<int64_t>(),
            (std::vector<int64_t>{0, std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min(), -2}));
  EXPECT_EQ(x.to_vector<bool>(), (std::vector<bool>{true, true, true, true}));
  // Just above the middle between two bfloat16, which is a tie in float32.
  EXPECT_EQ(scalar(1 + 0x1p-8 + 0x1p-40, DType::bfloat16).item(), 1 + 0x1p-7);
  EXPECT_EQ(scalar(1 + 0x1p-8, DType::bfloat16).item(), 1);
}

TEST(Tensor, ItemNeedsOneElementAndAtAWholeIndex) {
  EXPECT_EQ(full({1, 1}, 2.5).item(), 2.5);
  EXPECT_THROW(grid().item(), ShapeError);
  EXPECT_THROW(empty({0}).item(), ShapeError);
  EXPECT_THROW(grid().at({1}), IndexError);
  EXPECT_THROW(grid().at({1, 4}), IndexError);
  EXPECT_THROW(grid().at({-4, 0}), IndexError);
}

TEST(Tensor, DataChecksTheType) {
  EXPECT_NO_THROW(grid().data<float>());
  try {
    grid().data<double>();
    FAIL();
  } catch (const DTypeError& error) {
    EXPECT_STREQ(error.what(),
                 "data: asked for float64, but the tensor is float32; ask for that, or cast it");
  }
}

TEST(Tensor, LastOwnerFreesTheMemoryOnAnyThread) {
  const int64_t before = Storage::live();
  Tensor x = grid();
  Tensor view = x.alias(x.layout());
  EXPECT_EQ(Storage::live(), before + 1);
  x = Tensor();
  EXPECT_EQ(view.at({2, 3}), 11);
  std::thread([mine = std::move(view)]() mutable { mine = Tensor(); }).join();
  EXPECT_EQ(Storage::live(), before);
}

TEST(Tensor, ManyOwnersOnManyThreadsFreeOnce) {
  const int64_t before = Storage::live();
  {
    const Tensor x = grid();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([x] {
        for (int i = 0; i < 10000; ++i) {
          const Tensor copy = x;
          const Tensor view = copy.alias(layout::select(copy.layout(), 0, 2));
          ASSERT_EQ(view.at({3}), 11);
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(x.sole_owner());
  }
  EXPECT_EQ(Storage::live(), before);
}

// An object of static storage dies after its thread's lists of small objects are gone.
Tensor& immortal() {
  static Tensor x;
  return x;
}
TEST(Tensor, MayLiveInStaticStorage) {
  immortal() = grid();
  thread_local Tensor per_thread = grid();
  EXPECT_EQ(per_thread.numel(), immortal().numel());
  std::thread([] {
    thread_local Tensor x = grid();
    x = grid(float64);
  }).join();
}

}  // namespace
}  // namespace accrue
