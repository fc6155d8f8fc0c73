// Products by cuBLAS: what it is asked for, what it is not, and that both give one result.
#include <thread>

#include "tests/cuda/support.h"

#include <accrue/core/error.h>
#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/kernels/cuda/blas_handle.h>
#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/matmul.h>
#include <accrue/kernels/split_invariant.h>
#include <accrue/kernels/tf32.h>

#include <accrue/autograd/ops/shape.h>

namespace accrue::testing {
namespace {

using kernels::cuda::BlasLibrary;
using kernels::cuda::forget_blas;
using kernels::cuda::open_blas;
using ::testing::HasSubstr;

class CudaBlas : public OnExecutor {
 protected:
  CudaBlas() { manual_seed(5); }

  using Change = std::function<Tensor(const Tensor&)>;
  static Tensor as_is(const Tensor& x) { return x; }
  static Tensor swapped(const Tensor& x) { return transpose(x, -1, -2); }

  static Tensor copy_on(Device d, const Tensor& x) {
    const Tensor y = empty_like(x);
    kernels::copy(x, into(y));
    return to_device(y, d);
  }

  /// Kernels launched by f: none, if cuBLAS does it all.
  template <class F>
  static uint64_t launches_of(F&& f) {
    const uint64_t before = simt::counts().launches;
    f();
    return simt::counts().launches - before;
  }

  /// left(a) · right(b) in fresh memory and onto old content, with the result seen through `where`,
  /// is that of the CPU up to the order of its sum, and no kernel of ours runs.
  void expect_product(const Tensor& a, const Tensor& b, const Dims& shape, DType t = float32,
                      const Change& left = as_is, const Change& right = as_is,
                      const Change& where = as_is) {
    SCOPED_TRACE(::testing::Message() << a.shape() << " · " << b.shape() << ", " << a.dtype());
    const Tensor old = randn(shape, t);
    expect_as_on_cpu(
        {a, b},
        [&](const std::vector<Tensor>& x) -> std::vector<Tensor> {
          const Tensor y = copy_on(x[0].device(), old), sum = copy_on(x[0].device(), old);
          const uint64_t launches = launches_of([&] {
            kernels::matmul(left(x[0]), right(x[1]), into(where(y)));
            kernels::matmul(left(x[0]), right(x[1]), adding_to(where(sum)));
            synchronize(x[0].device());
          });
          EXPECT_EQ(launches, 0U);
          return {y, sum};
        },
        16);
  }
};

TEST_F(CudaBlas, TakesEveryTransposition) {
  for (auto* left : {as_is, swapped}) {
    for (auto* right : {as_is, swapped}) {
      for (auto* where : {as_is, swapped}) {
        const auto change = [](auto* f, const Dims& d) { return f(empty(d)).shape(); };
        expect_product(randn(change(left, {5, 7})), randn(change(right, {7, 3})),
                       change(where, {5, 3}), float32, left, right, where);
      }
    }
  }
}

TEST_F(CudaBlas, TakesSizesOfOneAndRowsWithGaps) {
  for (int64_t m : {1, 4}) {
    for (int64_t n : {1, 6}) {
      for (int64_t k : {1, 33}) expect_product(randn({m, k}), randn({k, n}), {m, n});
    }
  }
  const Change rows = [](const Tensor& x) { return slice(slice(x, 0, 1, 9), 1, 2, 10); };
  for (const Change& right : {rows, Change([&](const Tensor& x) { return swapped(rows(x)); })})
    expect_product(randn({12, 11}), randn({10, 13}), {11, 12}, float32, rows, right, rows);
}

TEST_F(CudaBlas, TakesEveryDtype) {
  for (DType t : {float64, DType::bfloat16, DType::float16}) {
    expect_product(randn({9, 40}, t), randn({40, 10}, t), {9, 10}, t);
    if (t != float64) expect_product(randn({9, 40}, t), randn({40, 10}, t), {9, 10}, float32);
  }
}

TEST_F(CudaBlas, TakesBatches) {
  const Change heads = [](const Tensor& x) { return transpose(x, 1, 2); };  // [b, t, h, d]
  expect_product(randn({3, 2, 5, 4}), randn({4, 6}), {3, 2, 5, 6});
  expect_product(randn({3, 2, 5, 4}), randn({3, 2, 4, 6}), {3, 2, 5, 6});
  expect_product(randn({3, 1, 5, 4}), randn({2, 4, 6}), {3, 2, 5, 6});
  expect_product(randn({3, 5, 2, 4}), randn({3, 4, 2, 6}), {3, 2, 5, 6}, float32, heads, heads);
  expect_product(randn({7, 5, 4}), randn({7, 5, 6}), {4, 6}, float32, swapped);
  expect_product(randn({3, 2, 5, 4}), randn({3, 2, 4, 6}), {2, 5, 6});
  expect_product(randn({0, 5, 4}), randn({4, 6}), {0, 5, 6});
}

TEST_F(CudaBlas, LeavesToOurKernelWhatItCannotTake) {
  const Tensor x = to_device(randn({20, 40}), device);
  const Tensor every_second = slice(x, 1, 0, 40, 2), one_row = expand(slice(x, 0, 0, 1), {20, 40});
  const Tensor overlapping = x.alias({{20, 20}, {3, 1}, 0}), y = empty({20, 20}, float32, device);
  const std::pair<Tensor, Tensor> products[] = {{every_second, slice(x, 1, 0, 20)},
                                                {slice(x, 1, 0, 20), every_second},
                                                {one_row, swapped(x)},
                                                {overlapping, slice(x, 1, 0, 20)},
                                                {slice(x, 1, 0, 0), slice(x, 0, 0, 0)}};
  for (const auto& product : products) {
    const Tensor &a = product.first, &b = product.second;
    const Tensor to = slice(y, 1, 0, std::min<int64_t>(20, b.size(1)));
    EXPECT_EQ(launches_of([&] { kernels::matmul(a, slice(b, 1, 0, to.size(1)), into(to)); }), 1U);
  }
}

TEST_F(CudaBlas, IsLeftAsideForSplitInvariance) {
  const Tensor x = to_device(randn({4, 4}), device), y = empty({4, 4}, float32, device);
  set_split_invariant(true);
  EXPECT_EQ(launches_of([&] { kernels::matmul(x, x, into(y)); }), 1U);
  set_split_invariant(false);
  EXPECT_EQ(launches_of([&] { kernels::matmul(x, x, into(y)); }), 0U);
}

TEST_F(CudaBlas, AFusedBiasEqualsASeparateOne) {
  for (DType t : {float32, float64, DType::bfloat16, DType::float16}) {
    for (int64_t rows : {1, 11}) {
      const Tensor a = randn({3, rows, 20}, t), w = randn({35, 20}, t), bias = randn({35}, t);
      const Tensor y = empty({3, rows, 35}, float64);
      const auto wide = [](const Tensor& x) {
        Tensor to = empty(x.shape(), float64);
        kernels::copy(x, into(to));
        return to;
      };
      kernels::copy(expand(wide(bias), y.shape()), into(y));
      kernels::matmul(wide(a), swapped(wide(w)), adding_to(y));
      under_every_schedule([&] {
        const Tensor there = to_device(a, device), weight = to_device(w, device),
                     added = to_device(bias, device);
        const Tensor got = empty({3, rows, 35}, t, device);
        EXPECT_EQ(launches_of([&] {
                    kernels::matmul(there, swapped(weight), added, into(got));
                    synchronize(device);
                  }),
                  0U);
        const Tensor right = empty(y.shape(), t);
        kernels::copy(y, into(right));
        expect_near(to_device(got, Device::cpu()), right, 4);
      });
    }
  }
}

TEST_F(CudaBlas, ABiasThatCublasLtWouldReadWronglyIsOurKernels) {
  const Tensor a = to_device(randn({6, 5}), device), w = to_device(randn({5, 6}), device);
  const Tensor bias = to_device(randn({6}), device), pairs = to_device(randn({6, 2}), device);
  const Tensor y = empty({6, 6}, float32, device);
  const auto ours = [&](const Tensor& x, const Tensor& b, const Tensor& to) {
    return launches_of([&] { kernels::matmul(x, x.dtype() == float32 ? w : x, b, into(to)); });
  };
  EXPECT_EQ(ours(a, bias, y), 0U);
  EXPECT_EQ(ours(a, select(pairs, 1, 0), y), 1U) << "with gaps";
  EXPECT_EQ(ours(a, bias, swapped(y)), 1U) << "along the columns of BLAS's matrix";
  const Tensor half = to_device(randn({6, 6}, DType::bfloat16), device);
  EXPECT_EQ(ours(half, select(half, 0, 0), y), 1U) << "of another dtype than the result";
}

/// f(bias + a · wᵀ) and, if it is `kept`, f's argument.
std::vector<Tensor> with_epilogue(const std::vector<Tensor>& in, Unary f, bool kept) {
  Dims shape = in[0].shape();
  shape[shape.size() - 1] = in[1].size(0);
  const Tensor y = empty(shape, in[0].dtype(), in[0].device()), z = empty_like(y);
  kernels::matmul(in[0], kernels::transposed(in[1].view()),
                  {.bias = in.size() > 2 ? ConstView(in[2]) : ConstView(),
                   .f = f,
                   .argument = kept ? into(z) : Dest()},
                  into(y));
  return kept ? std::vector<Tensor>{y, z} : std::vector<Tensor>{y};
}

TEST_F(CudaBlas, GeluAndItsArgumentComeOutOfTheProduct) {
  for (DType t : {float32, float64, DType::bfloat16, DType::float16})
    for (int64_t features : {8, 35, 40})
      for (bool kept : {false, true})
        for (bool with_bias : {false, true}) {
          SCOPED_TRACE(::testing::Message() << t << " " << features << " " << kept << with_bias);
          std::vector<Tensor> in = {randn({3, 11, 20}, t), randn({features, 20}, t)};
          if (with_bias) in.push_back(randn({features}, t));
          expect_as_on_cpu(
              in,
              [&](const std::vector<Tensor>& x) {
                return with_epilogue(x, Unary::gelu_tanh, kept);
              },
              t == float32 || t == float64 ? 16 : 2);
        }
}

TEST_F(CudaBlas, GeluIsOurKernelsWhereCublasLtHasNone) {
  const auto ours = [&](DType t, int64_t features, bool kept) {
    const std::vector<Tensor> in = {to_device(randn({11, 20}, t), device),
                                    to_device(randn({features, 20}, t), device),
                                    to_device(randn({features}, t), device)};
    return launches_of([&] { with_epilogue(in, Unary::gelu_tanh, kept); });
  };
  for (DType t : {float32, DType::bfloat16, DType::float16}) {
    EXPECT_EQ(ours(t, 40, true), 0U) << t;
    EXPECT_EQ(ours(t, 35, false), 0U) << t;
  }
  EXPECT_EQ(ours(float32, 35, true), 1U) << "whose columns are no multiple of 8 apart";
  EXPECT_EQ(ours(float64, 40, false), 1U);
}

TEST_F(CudaBlas, ReluFollowsTheProduct) {
  const std::vector<Tensor> in = {randn({3, 11, 20}), randn({35, 20}), randn({35})};
  for (bool kept : {false, true})
    expect_as_on_cpu(
        in, [&](const std::vector<Tensor>& x) { return with_epilogue(x, Unary::relu, kept); }, 16);
}

TEST_F(CudaBlas, CublasLtHearsHowOperandsLie) {
  const Tensor a = randn({11, 21}), w = randn({21, 7}), bias = randn({7}), b = randn({20, 11});
  expect_as_on_cpu(
      {a, w, bias, b},
      [&](const std::vector<Tensor>& x) {
        const Tensor z = empty({11, 7}, float32, x[0].device());
        kernels::matmul(swapped(x[3]), slice(x[1], 0, 1, 21), x[2], into(z));
        const Tensor all = empty({11, 8}, float32, x[0].device()), y = slice(all, 1, 1, 8);
        kernels::fill(0, into(all));
        kernels::matmul(slice(x[0], 1, 1, 21), slice(x[1], 0, 1, 21), x[2], into(y));
        return std::vector<Tensor>{z, all};
      },
      16);
}

TEST_F(CudaBlas, SixteenBitsAreSummedInFloat32) {
  const int64_t n = 4096;  // a sum of ones in 16 bits would stop at 256 or 2048
  for (DType t : {DType::bfloat16, DType::float16}) {
    const Tensor ones = to_device(full({1, n}, 1, t), device);
    const Tensor y = empty({1, 1}, float32, device);
    kernels::matmul(ones, swapped(ones), into(y));
    EXPECT_EQ(y.to_vector<float>()[0], static_cast<float>(n));
    kernels::matmul(ones, swapped(ones), adding_to(y));
    EXPECT_EQ(y.to_vector<float>()[0], static_cast<float>(2 * n));
  }
}

// 1 + 2⁻¹² has more bits than tensor cores keep of a float32.
TEST_F(CudaBlas, Tf32IsUsedOnlyIfAllowed) {
  const Tensor x = to_device(full({1, 1}, 1 + 0x1p-12), device);
  const Tensor one = to_device(full({1, 1}, 1), device), y = empty({1, 1}, float32, device);
  EXPECT_FALSE(allow_tf32());
  kernels::matmul(x, one, into(y));
  EXPECT_EQ(y.to_vector<float>()[0], 1 + 0x1p-12F);
  set_allow_tf32(true);
  kernels::matmul(x, one, into(y));
  set_allow_tf32(false);
  EXPECT_EQ(y.to_vector<float>()[0], 1);
}

TEST_F(CudaBlas, RunsOnTheCurrentStreamOfEachDevice) {
  under_every_schedule([&] {
    const auto run = [](Device d) {
      const Tensor x = to_device(full({6, 6}, 2), d), y = empty({6, 6}, float32, d);
      kernels::matmul(x, x, into(y));
      EXPECT_EQ(y.to_vector<float>(), std::vector<float>(36, 24));
    };
    for (const Device d : {device, Device::cuda(1)}) {
      run(d);
      const StreamGuard guard(Stream::create(d));
      run(d);
    }
  });
}

TEST_F(CudaBlas, AnAbsentLibraryIsSaidOnceAndReplaced) {
  const Tensor x = to_device(full({6, 6}, 2), device), y = empty({6, 6}, float32, device);
  forget_blas("libcublas.so.13: cannot open shared object file");
  ::testing::internal::CaptureStderr();
  const uint64_t launches = launches_of([&] {
    kernels::matmul(x, x, into(y));
    kernels::matmul(x, x, adding_to(y));
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "accrue: products run on its own kernels, for cuBLAS is absent: "
            "libcublas.so.13: cannot open shared object file\n");
  forget_blas("");
  EXPECT_EQ(launches, 2U);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(36, 48));
  EXPECT_EQ(launches_of([&] { kernels::matmul(x, x, into(y)); }), 0U);
}

TEST_F(CudaBlas, ALibraryThatIsNotOneIsRefused) {
  BlasLibrary library;
  std::string why;
  EXPECT_FALSE(open_blas("libaccrue_none.so.1", "libaccrue_none.so.1", library, why));
  EXPECT_THAT(why, HasSubstr("libaccrue_none.so.1"));
  EXPECT_FALSE(open_blas("libm.so.6", "libm.so.6", library, why));
  EXPECT_EQ(why, "cublasCreate_v2 is missing in it");
}

TEST_F(CudaBlas, AFailureIsAnException) {
  try {
    kernels::cuda::blas_handle(device)->check(CUBLAS_STATUS_EXECUTION_FAILED);
    FAIL();
  } catch (const CudaError& e) {
    EXPECT_STREQ(e.what(), "matmul: cuBLAS failed: CUBLAS_STATUS_EXECUTION_FAILED");
  }
}

TEST_F(CudaBlas, ThreadsShareAStream) {
  const Tensor x = to_device(randn({16, 16}), device);
  Tensor results[4];
  std::vector<std::thread> threads;
  for (Tensor& y : results) {
    y = empty({16, 16}, float32, device);
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) kernels::matmul(x, x, into(y));
    });
  }
  for (std::thread& t : threads) t.join();
  for (const Tensor& y : results) EXPECT_EQ(y.to_vector<float>(), results[0].to_vector<float>());
}

}  // namespace
}  // namespace accrue::testing
