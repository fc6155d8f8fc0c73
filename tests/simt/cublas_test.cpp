// The executor's cuBLAS: what it computes, in which order, and what it finds wrong.
#include <cmath>
#include <string>
#include <vector>

#include "tests/simt/support.h"
#include <cublasLt.h>
#include <gmock/gmock.h>

namespace {

using accrue::simt::Fault;
using accrue::simt::set_schedule;
using accrue::simt::take_reports;
using testing::ElementsAre;
using testing::HasSubstr;

class Cublas : public SimtTest {
 protected:
  Cublas() { EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS); }
  ~Cublas() override { cublasDestroy(handle); }

  // C = A · B + beta · C of float32, [m, k] by [k, n], columns side by side unless `ld` is given.
  cublasStatus_t multiply(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
                          float beta = 0, int64_t lda = 0) {
    const float one = 1;
    return cublasGemmEx_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, CUDA_R_32F,
                           lda ? lda : m, b, CUDA_R_32F, k, &beta, c, CUDA_R_32F, m,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }
  static void expect_report(Fault fault, const std::string& text) {
    const auto reports = take_reports();
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].fault, fault) << reports[0].text;
    EXPECT_THAT(reports[0].text, HasSubstr(text));
    accrue::simt::reset();
  }

  cublasHandle_t handle = nullptr;
};

//  1 3     1 0     1 3
//  2 4  ·  0 1  =  2 4   and so on: matrices are written here as they lie, column by column.
TEST_F(Cublas, MultipliesColumnByColumn) {
  for (const NamedSchedule& named : all_schedules()) {
    SCOPED_TRACE(named.name);
    set_schedule(named.schedule);
    const OnDevice<float> a({1, 2, 3, 4}), b({1, 1, 0, 2}), c({10, 20, 30, 40});
    const float one = 1, two = 2, zero = 0;
    const auto gemm = [&](cublasOperation_t op_a, cublasOperation_t op_b, const float& alpha,
                          const float& beta) {
      EXPECT_EQ(cublasGemmEx_64(handle, op_a, op_b, 2, 2, 2, &alpha, a.data(), CUDA_R_32F, 2,
                                b.data(), CUDA_R_32F, 2, &beta, c.data(), CUDA_R_32F, 2,
                                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                CUBLAS_STATUS_SUCCESS);
      return c.get();
    };
    EXPECT_THAT(gemm(CUBLAS_OP_N, CUBLAS_OP_N, one, one), ElementsAre(14, 26, 36, 48));
    EXPECT_THAT(gemm(CUBLAS_OP_N, CUBLAS_OP_N, one, zero), ElementsAre(4, 6, 6, 8));
    EXPECT_THAT(gemm(CUBLAS_OP_T, CUBLAS_OP_N, one, zero), ElementsAre(3, 7, 4, 8));
    EXPECT_THAT(gemm(CUBLAS_OP_N, CUBLAS_OP_T, one, zero), ElementsAre(1, 2, 7, 10));
    EXPECT_THAT(gemm(CUBLAS_OP_T, CUBLAS_OP_T, two, two), ElementsAre(4, 10, 24, 42));
  }
}

TEST_F(Cublas, KnowsTypesAndBatches) {
  const OnDevice<uint16_t> half({0x3c00, 0x4000}), brain({0x3f80, 0x4000});  // 1, 2
  const OnDevice<float> c(2);
  const float one = 1, zero = 0;
  for (const auto& [x, type] : {std::pair(half.data(), CUDA_R_16F), {brain.data(), CUDA_R_16BF}}) {
    EXPECT_EQ(cublasGemmStridedBatchedEx_64(
                  handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, type, 1, 1, x + 1, type, 1, 0,
                  &zero, c.data(), CUDA_R_32F, 1, 1, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_THAT(c.get(), ElementsAre(2, 4));  // B serves both
  }
  const OnDevice<double> x(std::vector<double>{0.1}), y(1);
  const double one64 = 1, zero64 = 0;
  EXPECT_EQ(cublasGemmEx_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one64, x.data(), CUDA_R_64F,
                            1, x.data(), CUDA_R_64F, 1, &zero64, y.data(), CUDA_R_64F, 1,
                            CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_THAT(y.get(), ElementsAre(0.1 * 0.1));
  EXPECT_EQ(cublasGemmEx_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x.data(), CUDA_R_64F,
                            1, x.data(), CUDA_R_64F, 1, &zero, c.data(), CUDA_R_32F, 1,
                            CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(Cublas, AddsABias) {
  const OnDevice<float> a({1, 2}), b({3, 4, 5}), bias({10, 20}), c(6);
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t column = nullptr, row = nullptr, result = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&column, CUDA_R_32F, 2, 1, 2);
  cublasLtMatrixLayoutCreate(&row, CUDA_R_32F, 1, 3, 1);
  cublasLtMatrixLayoutCreate(&result, CUDA_R_32F, 2, 3, 2);
  cublasLtMatmulPreferenceCreate(&preference);
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  const float* added = bias.data();
  const float one = 1, zero = 0;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, 1),
            CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                 sizeof epilogue);
  cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &added, sizeof added);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const auto run = [&](const float* left) {
    return cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), product, &one, left, column,
                          b.data(), row, &zero, c.data(), result, c.data(), result, &best.algo,
                          nullptr, 0, nullptr);
  };
  const auto choose = [&] {
    return cublasLtMatmulAlgoGetHeuristic(reinterpret_cast<cublasLtHandle_t>(handle), product,
                                          column, row, result, result, preference, 1, &best,
                                          &found);
  };
  EXPECT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(run(a.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_THAT(c.get(), ElementsAre(13, 26, 14, 28, 15, 30));
  const OnDevice<float> one_value(std::vector<float>{1});
  added = one_value.data();
  cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &added, sizeof added);
  run(a.data());
  expect_report(Fault::out_of_bounds, "cublasLtMatmul: the bias of 8 bytes");
  const OnDevice<float> shifted({0, 1, 2});
  EXPECT_EQ(run(shifted.data() + 1), CUBLAS_STATUS_INVALID_VALUE);
  expect_report(Fault::bad_call, "an operand is aligned worse than its algorithm was told");
  cublasLtMatmulDescDestroy(product);
  for (cublasLtMatrixLayout_t x : {column, row, result}) cublasLtMatrixLayoutDestroy(x);
  cublasLtMatmulPreferenceDestroy(preference);
}

TEST_F(Cublas, AppliesGeluAndKeepsItsArgument) {
  const OnDevice<float> a({1, -2}), b({1, 2}), bias({0.5, 0.25}), c(16), inside(16);
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t column = nullptr, row = nullptr, result = nullptr;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&column, CUDA_R_32F, 2, 1, 2);
  cublasLtMatrixLayoutCreate(&row, CUDA_R_32F, 1, 2, 1);
  cublasLtMatrixLayoutCreate(&result, CUDA_R_32F, 2, 2, 8);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
  };
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const float*>(bias.data()));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, inside.data());
  const float one = 1, zero = 0;
  const auto run = [&](int64_t ld) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
    return cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), product, &one, a.data(),
                          column, b.data(), row, &zero, c.data(), result, c.data(), result, nullptr,
                          nullptr, 0, nullptr);
  };
  EXPECT_EQ(run(8), CUBLAS_STATUS_SUCCESS);
  float got[10], argument[10];  // two columns, with a gap that nobody writes
  cudaMemcpy(argument, inside.data(), 2 * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(argument + 8, inside.data() + 8, 2 * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(got, c.data(), 2 * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(got + 8, c.data() + 8, 2 * sizeof(float), cudaMemcpyDeviceToHost);
  const double z[] = {1.5, -1.75, 2.5, -3.75};
  for (int i = 0; i < 4; ++i) {
    const int at = i % 2 + i / 2 * 8;
    EXPECT_EQ(argument[at], static_cast<float>(z[i]));
    const double right =
        z[i] / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (z[i] + 0.044715 * z[i] * z[i] * z[i])));
    EXPECT_NEAR(got[at], right, 1e-6);
  }
  EXPECT_EQ(run(2), CUBLAS_STATUS_INVALID_VALUE);
  expect_report(Fault::bad_call, "the auxiliary matrix's columns lie in a distance that is wrong");
  cublasLtMatmulDescDestroy(product);
  for (cublasLtMatrixLayout_t x : {column, row, result}) cublasLtMatrixLayoutDestroy(x);
}

TEST_F(Cublas, WaitsForItsTurnInTheStream) {
  set_schedule({.order = accrue::simt::Order::random, .seed = 3, .lazy = true});
  const OnDevice<float> a(std::vector<float>{2}), b(std::vector<float>{3}), c(1);
  EXPECT_EQ(multiply(1, 1, 1, a.data(), b.data(), c.data()), CUBLAS_STATUS_SUCCESS);
  const float five = 5;
  cudaMemcpyAsync(a.data(), &five, sizeof five, cudaMemcpyHostToDevice, nullptr);
  EXPECT_EQ(multiply(1, 1, 1, a.data(), b.data(), c.data(), 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_THAT(c.get(), ElementsAre(21));
}

TEST_F(Cublas, FindsOperandsThatAreTooShort) {
  const OnDevice<float> a(some_floats(6)), b(some_floats(6)), c(4);
  EXPECT_EQ(multiply(2, 2, 3, a.data(), b.data(), c.data(), 0, 3), CUBLAS_STATUS_EXECUTION_FAILED);
  expect_report(Fault::out_of_bounds, "cublasGemm: the matrix A of 8 bytes ends outside");
  multiply(2, 3, 2, a.data(), b.data(), c.data());
  expect_report(Fault::out_of_bounds, "cublasGemm: the matrix C");
}

TEST_F(Cublas, FindsBatchesThatAreTooFew) {
  const OnDevice<float> a(some_floats(3)), c(2);
  const float one = 1, zero = 0;
  for (const int64_t apart : {0, 1}) {  // three of A, or one for all
    cublasGemmStridedBatchedEx_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a.data(),
                                  CUDA_R_32F, 1, apart, a.data(), CUDA_R_32F, 1, 0, &zero, c.data(),
                                  CUDA_R_32F, 1, 1, 3, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    expect_report(Fault::out_of_bounds, "cublasGemm: the matrix C");
  }
}

TEST_F(Cublas, FindsWhatNobodyWrote) {
  const OnDevice<float> a(some_floats(4)), b(4), c(4);
  multiply(2, 2, 2, a.data(), b.data(), c.data());
  expect_report(Fault::uninitialised, "cublasGemm reads 8 bytes of the matrix B");
  const OnDevice<float> d(4);
  multiply(2, 2, 2, a.data(), a.data(), d.data(), 1);
  expect_report(Fault::uninitialised, "of the matrix C");
}

TEST_F(Cublas, FindsFreedForeignAndHostMemory) {
  const OnDevice<float> a(std::vector<float>{1}), c(1);
  float* gone = nullptr;
  cudaMalloc(&gone, sizeof(float));
  cudaFree(gone);
  multiply(1, 1, 1, a.data(), gone, c.data());
  expect_report(Fault::use_after_free, "cublasGemm: the matrix B of 4 bytes was freed");
  const std::vector<float> here = {1};
  multiply(1, 1, 1, here.data(), a.data(), c.data());
  expect_report(Fault::host_pointer, "cublasGemm: the matrix A is no device memory");
  cudaSetDevice(1);
  const OnDevice<float> there(std::vector<float>{1});
  cudaSetDevice(0);
  multiply(1, 1, 1, there.data(), a.data(), c.data());
  expect_report(Fault::wrong_device, "cublasGemm on device 0: the matrix A is of device 1");
}

TEST_F(Cublas, RefusesWhatCublasWould) {
  const OnDevice<float> a({1, 2}), c(2);
  EXPECT_EQ(multiply(2, 1, 1, a.data(), a.data(), c.data(), 0, 1), CUBLAS_STATUS_INVALID_VALUE);
  expect_report(Fault::bad_call, "cublasGemm: lda is less than a column");
  EXPECT_EQ(multiply(-1, 1, 1, a.data(), a.data(), c.data()), CUBLAS_STATUS_INVALID_VALUE);
  expect_report(Fault::bad_call, "cublasGemm: a size is negative");
  cudaSetDevice(1);
  EXPECT_EQ(multiply(1, 1, 1, a.data(), a.data(), c.data()), CUBLAS_STATUS_EXECUTION_FAILED);
  expect_report(Fault::wrong_device, "the handle is of device 0, the current device is 1");
  cudaSetDevice(0);
  cublasHandle_t other = nullptr;
  cublasCreate(&other);
  EXPECT_EQ(cublasDestroy(other), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSetStream(other, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  expect_report(Fault::bad_call, "cublasSetStream: the handle is no live one");
  EXPECT_STREQ(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
}

}  // namespace
