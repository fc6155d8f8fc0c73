// The kernels of these tests, as the tests see them: functions that launch on the current device.
#pragma once
#include <ostream>
#include <vector>

#include <cuda_runtime.h>

#include <accrue/kernels/simt/control.h>

// Device buffers of 1000 floats each; x and the 256 indices, all below 7, are set and y is not.
struct Buffers {
  static constexpr int kCount = 1000;
  float* x = nullptr;
  float* y = nullptr;
  int* index = nullptr;
};

struct BugCase {
  const char* name;
  accrue::simt::Fault fault;
  void (*run)(const Buffers&);
  friend std::ostream& operator<<(std::ostream& out, const BugCase& bug) { return out << bug.name; }
};
std::vector<BugCase> memory_bugs();
std::vector<BugCase> order_bugs();
std::vector<BugCase> launch_bugs();

// The three kernels of docs/cuda.md, with what the chapter calls them.
struct BrokenKernel {
  const char* name;
  void (*run)(float* y, const float* x, int n);
};
std::vector<BrokenKernel> broken_kernels();

// Correct kernels; what each computes is said in controls_test.cpp.
namespace controls {
void reverse_64(float* x, cudaStream_t stream);
void warp_tree_sum(float* x, cudaStream_t stream);
void add(float* y, const float* a, const float* b, long n, cudaStream_t stream);
void sum(float* out, float* partial, const float* x, long n, cudaStream_t stream);
void prefix_sum_of_warp(int* x, cudaStream_t stream);
void votes(unsigned* out, const int* x, int block, cudaStream_t stream);
void histogram(int* counts, const int* index, int n, cudaStream_t stream);
void maximum(float* out, const float* x, int n, cudaStream_t stream);
void bytes_side_by_side(unsigned char* x, int n, cudaStream_t stream);
void to_bfloat16(unsigned short* y, const float* x, long n, cudaStream_t stream);
void table_lookup(float* y, const int* index, int n, cudaStream_t stream);
void last_thread_tells_all(int* out, cudaStream_t stream);
void wait_for_flag(int* flag, cudaStream_t stream);
void scale(float* x, float factor, int n, cudaStream_t stream);

void softmax(float* y, const float* x, int rows, int cols, cudaStream_t stream);
void layer_norm(float* y, const float* x, int rows, int cols, cudaStream_t stream);
void column_sums(float* out, const float* x, int rows, int cols, cudaStream_t stream);
void matmul(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);
}  // namespace controls
