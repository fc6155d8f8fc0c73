#include "tools/doctor.h"

#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

#include "tools/dataset.h"

#include <accrue/core/device.h>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/targets.h>

#include <accrue/version.h>

namespace accrue::tools {
namespace {

/// The instruction sets that matter to our kernels and that this processor has.
const char* cpu_features() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f")) return "x86-64 with SSE2, AVX2, FMA, AVX-512";
  if (__builtin_cpu_supports("avx2")) return "x86-64 with SSE2, AVX2, FMA";
  return "x86-64 with SSE2";
#else
  return "not x86-64";
#endif
}

/// A word about a setting of the environment that is wrong.
std::string wrong(const char* name, const char* value, const char* rule) {
  return std::string("; ") + name + " is '" + value + "', which is wrong: it must be " + rule;
}
std::string wrong_cpu() {
  const char* named = std::getenv("ACCRUE_CPU");
  const std::string_view text = named ? named : "";
  if (text.empty() || text == "avx3" || text == "avx2" || text == "baseline") return "";
  return wrong("ACCRUE_CPU", named, "avx3, avx2 or baseline");
}
std::string wrong_threads() {
  const char* named = std::getenv("ACCRUE_NUM_THREADS");
  if (!named || !*named || std::to_string(get_num_threads()) == named) return "";
  return wrong("ACCRUE_NUM_THREADS", named, "a number from 1 to 1024");
}

/// Whether there are CUDA kernels, and what would run them, or why nothing would.
std::string cuda_line() {
  if (!cuda_is_built()) return "not built (ACCRUE_CUDA)";
  if (!cuda_is_available()) return "built, not usable: " + describe_cuda();
  std::string line = "built, usable: " + describe_cuda();
  for (int i = 1; i < cuda_device_count(); ++i) line += "; " + describe_cuda(i);
  return line;
}

}  // namespace

void print_doctor(std::ostream& out) {
  const std::string folder = fashion_mnist_folder();
  out << "accrue " ACCRUE_VERSION "\n"
      << "cpu       " << cpu_features() << "; kernels chosen: " << kernels::cpu::simd_target()
      << wrong_cpu() << "\n"
      << "threads   " << get_num_threads() << " of " << std::thread::hardware_concurrency()
      << " (ACCRUE_NUM_THREADS)" << wrong_threads() << "\n"
      << "cuda      " << cuda_line() << "\n"
      << "data      Fashion-MNIST "
      << (fashion_mnist_found(folder)
              ? "found in " + folder
              : "not in " + folder + "; install it: apt-get install dataset-fashion-mnist")
      << "\n";
}

}  // namespace accrue::tools
