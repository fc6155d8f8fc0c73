// A planted bug on a GPU, for NVIDIA's tools.
//
//   accrue_gpu_bugs list      the number of each, the tool of compute-sanitizer that should find it
//                             or -, and its name
//   accrue_gpu_bugs NUMBER    runs it; it may hang
#include <cstdio>
#include <string>
#include <vector>

#include "tests/simt/cases.h"

namespace {

using accrue::simt::Fault;

const char* tool_for(Fault fault) {
  switch (fault) {
    case Fault::race:
      return "racecheck";
    case Fault::out_of_bounds:
    case Fault::use_after_free:
    case Fault::misaligned:
    case Fault::host_pointer:
    case Fault::bad_launch:
    case Fault::bad_call:
      return "memcheck";
    case Fault::uninitialised:
      return "initcheck";
    case Fault::barrier:
    case Fault::warp:
      return "synccheck";
    default:
      return "-";
  }
}

std::vector<BugCase> all_bugs() {
  std::vector<BugCase> all = memory_bugs();
  for (const auto& more : {order_bugs(), launch_bugs()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// As Buffers says.
Buffers make_buffers() {
  Buffers b;
  std::vector<float> x(Buffers::kCount);
  std::vector<int> index(256);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int>(i % 7);
  cudaMalloc(&b.x, x.size() * sizeof(float));
  cudaMalloc(&b.y, x.size() * sizeof(float));
  cudaMalloc(&b.index, index.size() * sizeof(int));
  cudaMemcpy(b.x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b.index, index.data(), index.size() * sizeof(int), cudaMemcpyHostToDevice);
  return b;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<BugCase> bugs = all_bugs();
  const std::string wanted = argc == 2 ? argv[1] : "";
  for (size_t i = 0; i < bugs.size(); ++i) {
    if (wanted == "list") {
      std::printf("%zu %s %s\n", i, tool_for(bugs[i].fault), bugs[i].name);
    } else if (wanted == std::to_string(i)) {
      bugs[i].run(make_buffers());
      std::printf("%s: %s\n", bugs[i].name, cudaGetErrorString(cudaDeviceSynchronize()));
      return 0;
    }
  }
  return wanted == "list" ? 0 : 2;
}
