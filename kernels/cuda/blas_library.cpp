#include <dlfcn.h>

#include <accrue/kernels/cuda/blas_library.h>

namespace accrue::kernels::cuda {
namespace {

void* open_library(const std::string& name, std::string& why) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* error = dlerror();
    why = error ? error : name + " cannot be opened";
  }
  return handle;
}

template <class Function>
bool look_up(void* handle, const char* name, Function& function, std::string& why) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (!function) why = std::string(name) + " is missing in it";
  return function != nullptr;
}

}  // namespace

bool open_blas(const std::string& cublas, const std::string& cublas_lt, BlasLibrary& library,
               std::string& why) {
  void* blas = open_library(cublas, why);  // stays open as long as the process lives
  void* lt = blas ? open_library(cublas_lt, why) : nullptr;
  if (!lt) return false;
  bool complete = true;
#define ACCRUE_LOOK_UP(name) complete = complete && look_up(from, #name, library.name, why);
  void* from = blas;
  ACCRUE_CUBLAS(ACCRUE_LOOK_UP)
  from = lt;
  ACCRUE_CUBLASLT(ACCRUE_LOOK_UP)
#undef ACCRUE_LOOK_UP
  return complete;
}

}  // namespace accrue::kernels::cuda
