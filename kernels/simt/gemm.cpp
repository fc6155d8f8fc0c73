#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <accrue/core/half.h>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/gemm.h>
#include <accrue/kernels/simt/range.h>
#include <accrue/kernels/simt/report.h>

namespace accrue::simt {
namespace {

int64_t size_of(cudaDataType type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

const void* element(const GemmMatrix& x, int64_t batch, int64_t row, int64_t column) {
  return static_cast<const char*>(x.data) +
         (batch * x.batch + column * x.ld + row) * size_of(x.type);
}

double load(const void* p, cudaDataType type) {
  switch (type) {
    case CUDA_R_64F:
      return *static_cast<const double*>(p);
    case CUDA_R_32F:
      return *static_cast<const float*>(p);
    case CUDA_R_16F:
      return *static_cast<const float16*>(p);
    default:
      return *static_cast<const bfloat16*>(p);
  }
}

void store(void* p, cudaDataType type, double value) {
  const auto single = static_cast<float>(value);
  switch (type) {
    case CUDA_R_64F:
      *static_cast<double*>(p) = value;
      break;
    case CUDA_R_32F:
      *static_cast<float*>(p) = single;
      break;
    case CUDA_R_16F:
      *static_cast<float16*>(p) = float16(single);
      break;
    default:
      *static_cast<bfloat16*>(p) = bfloat16(single);
      break;
  }
}

// What a tensor core keeps of a float32: 10 bits behind the point, rounded.
float as_tf32(float x) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000U) & 0xffffe000U);
}

enum class Use { read, write };

// Columns of `rows` elements each, of every batch.
bool check_matrix(const Gemm& g, const GemmMatrix& x, const char* role, int64_t rows,
                  int64_t columns, Use use) {
  for (int64_t t = 0; t < (x.batch == 0 ? 1 : g.batches); ++t) {
    for (int64_t j = 0; j < columns; ++j) {
      const Range range{g.call, role, element(x, t, 0, j),
                        static_cast<size_t>(rows * size_of(x.type)), g.device};
      if (!check_range(range)) return false;
      if (use == Use::read) check_written(range);
    }
  }
  return true;
}

bool check_operands(const Gemm& g) {
  const auto check_factor = [&](const GemmMatrix& x, const char* role, int64_t rows,
                                int64_t columns) {
    if (x.transposed) std::swap(rows, columns);
    return rows == 0 || check_matrix(g, x, role, rows, columns, Use::read);
  };
  if (!check_factor(g.a, "matrix A", g.m, g.k) || !check_factor(g.b, "matrix B", g.k, g.n) ||
      !check_matrix(g, g.c, "matrix C", g.m, g.n, g.beta == 0 ? Use::write : Use::read)) {
    return false;
  }
  if (g.inside.data && !check_matrix(g, g.inside, "auxiliary matrix", g.m, g.n, Use::write)) {
    return false;
  }
  if (!g.bias) return true;
  const Range bias{g.call, "bias", g.bias, static_cast<size_t>(g.m * size_of(g.c.type)), g.device};
  return check_range(bias) && (check_written(bias), true);
}

// op(X) of one batch in numbers of type T, a column after the other.
template <class T>
void gather(const Gemm& g, const GemmMatrix& x, int64_t batch, int64_t rows, int64_t columns,
            std::vector<T>& out) {
  out.resize(static_cast<size_t>(rows * columns));
  const bool rounds = g.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  auto to = out.begin();
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i, ++to) {
      const void* from = x.transposed ? element(x, batch, j, i) : element(x, batch, i, j);
      *to = static_cast<T>(load(from, x.type));
      if (rounds) *to = static_cast<T>(as_tf32(static_cast<float>(*to)));
    }
  }
}

// Hendrycks & Gimpel 2016, approximated by tanh.
template <class T>
T gelu(T x) {
  return x / 2 * (1 + std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
}

template <class T>
void compute(const Gemm& g) {
  std::vector<T> a, b, sum(static_cast<size_t>(g.m));
  for (int64_t t = 0; t < g.batches; ++t) {
    gather(g, g.a, t, g.m, g.k, a);
    gather(g, g.b, t, g.k, g.n, b);
    for (int64_t j = 0; j < g.n; ++j) {
      std::fill(sum.begin(), sum.end(), T(0));
      for (int64_t p = 0; p < g.k; ++p) {
        const T factor = b[static_cast<size_t>(j * g.k + p)];
        const T* column = a.data() + p * g.m;
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += column[i] * factor;
      }
      for (int64_t i = 0; i < g.m; ++i) {
        void* to = const_cast<void*>(element(g.c, t, i, j));  // C is written
        T value = static_cast<T>(g.alpha) * sum[static_cast<size_t>(i)];
        if (g.beta != 0) value += static_cast<T>(g.beta) * static_cast<T>(load(to, g.c.type));
        if (g.bias) {
          value += static_cast<T>(
              load(static_cast<const char*>(g.bias) + i * size_of(g.c.type), g.c.type));
        }
        if (g.inside.data) {
          store(const_cast<void*>(element(g.inside, t, i, j)), g.inside.type,
                static_cast<double>(value));
        }
        store(to, g.c.type, static_cast<double>(g.gelu ? gelu(value) : value));
      }
    }
  }
}

void mark_written(const Gemm& g, const GemmMatrix& x) {
  for (int64_t t = 0; t < g.batches; ++t) {
    for (int64_t j = 0; j < g.n; ++j) {
      Arena::set_states(Arena::offset(element(x, t, 0, j)),
                        static_cast<size_t>(g.m * size_of(x.type)), ByteState::set);
    }
  }
}

}  // namespace

cublasStatus_t judge(const Gemm& g) {
  const auto lines = [](const GemmMatrix& x, int64_t rows, int64_t columns) {
    return std::max<int64_t>(1, x.transposed ? columns : rows);
  };
  const char* wrong = g.m < 0 || g.n < 0 || g.k < 0 || g.batches < 0 ? "a size is negative"
                      : g.a.ld < lines(g.a, g.m, g.k)                ? "lda is less than a column"
                      : g.b.ld < lines(g.b, g.k, g.n)                ? "ldb is less than a column"
                      : g.c.ld < lines(g.c, g.m, g.n)                ? "ldc is less than a column"
                                                                     : nullptr;
  if (wrong) {
    report_call(g.call, wrong, "columns that lie at least their length apart");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool is_double = g.compute == CUBLAS_COMPUTE_64F;
  const bool fits = g.a.type == g.b.type && is_double == (g.a.type == CUDA_R_64F) &&
                    (g.c.type == g.a.type || (g.c.type == CUDA_R_32F && !is_double));
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

void run(const Gemm& g) {
  if (executor().device(g.device).failure != cudaSuccess) return;
  if (g.m == 0 || g.n == 0 || g.batches == 0) return;
  ++executor().counts.products;
  const DeviceWorks works;
  if (!check_operands(g)) return;
  if (g.compute == CUBLAS_COMPUTE_64F) {
    compute<double>(g);
  } else {
    compute<float>(g);
  }
  mark_written(g, g.c);
  if (g.inside.data) mark_written(g, g.inside);
}

}  // namespace accrue::simt
