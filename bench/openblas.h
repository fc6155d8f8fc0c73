// OpenBLAS, if it is installed: what the matrix product is compared with.
#pragma once
#include <string>

namespace accrue::bench {

/// c[m, n] = a · b + beta · c for dense row-major matrices; a or b may be stored transposed.
struct Sgemm {
  int m, n, k;
  bool a_transposed, b_transposed;
  const float *a, *b;
  float beta;
  float* c;
};

class OpenBlas {
 public:
  /// Loads the library, with the kernels that it chooses for this processor itself.
  static OpenBlas& instance();

  /// False if it is not installed; then nothing else may be called.
  explicit operator bool() const { return gemm_ != nullptr; }
  std::string core() const { return core_(); }
  void set_threads(int n) { set_threads_(n); }
  void sgemm(const Sgemm& p) const;

 private:
  OpenBlas();

  using Gemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                        float, float*, int);
  Gemm gemm_ = nullptr;
  void (*set_threads_)(int) = nullptr;
  char* (*core_)() = nullptr;
};

}  // namespace accrue::bench
