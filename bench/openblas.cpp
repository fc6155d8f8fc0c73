#include "openblas.h"

#include <cstdlib>

#include <dlfcn.h>

namespace accrue::bench {

OpenBlas& OpenBlas::instance() {
  static OpenBlas blas;
  return blas;
}

OpenBlas::OpenBlas() {
  // Read when the library is loaded. A wrong core type costs half its speed.
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("OPENBLAS_L2_SIZE");
  // Its threads wait about as long as ours before they sleep: 2^17 cycles, and not 2^26, in which
  // they would take our threads' cores.
  setenv("OPENBLAS_THREAD_TIMEOUT", "17", 0);
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  set_threads_ = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  core_ = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"));
  if (set_threads_ && core_) gemm_ = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
}

void OpenBlas::sgemm(const Sgemm& p) const {
  constexpr int row_major = 101;
  constexpr int plain = 111;
  constexpr int transposed = 112;
  gemm_(row_major, p.a_transposed ? transposed : plain, p.b_transposed ? transposed : plain, p.m,
        p.n, p.k, 1.0F, p.a, p.a_transposed ? p.m : p.k, p.b, p.b_transposed ? p.k : p.n, p.beta,
        p.c, p.n);
}

}  // namespace accrue::bench
