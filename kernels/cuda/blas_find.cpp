// Where a program looks for cuBLAS: among the system's libraries, then in the usual place of the
// toolkit.
#include <accrue/kernels/cuda/blas_library.h>

namespace accrue::kernels::cuda {

bool find_blas(BlasLibrary& library, std::string& why) {
  std::string first;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {".13", ".12", ""}) {
      const std::string name = std::string(folder) + "libcublas";
      if (open_blas(name + ".so" + version, name + "Lt.so" + version, library, why)) return true;
      if (first.empty()) first = why;
    }
  }
  why = first;
  return false;
}

}  // namespace accrue::kernels::cuda
