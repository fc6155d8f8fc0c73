// Random tensors. Every call takes one number from a Generator; element i of its result then
// depends on (seed, call, i) alone: not on threads, device, or the tensor's strides.
#pragma once
#include <atomic>

#include <accrue/core/philox.h>
#include <accrue/core/tensor.h>

namespace accrue {

/// A seed and a count of calls. Threads may share one; which call is whose is then up to them.
class Generator {
 public:
  explicit Generator(uint64_t seed) : seed_(seed) {}

  uint64_t seed() const { return seed_.load(std::memory_order_relaxed); }
  /// The bits of the next call.
  Philox next_call() { return {seed(), call_.fetch_add(1, std::memory_order_relaxed)}; }
  /// The next call's place, to save and restore.
  Philox state() const { return {seed(), call_.load(std::memory_order_relaxed)}; }
  void set_state(Philox state) {
    seed_.store(state.seed, std::memory_order_relaxed);
    call_.store(state.call, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> seed_;
  std::atomic<uint64_t> call_{0};
};

/// The one that is used where none is named. It starts with seed 0.
Generator& default_generator();
/// Starts the default generator anew.
void manual_seed(uint64_t seed);

/// Uniform in [0, 1): multiples of 2^-24 in float32, of 2^-53 in float64, of 2^-8 in bfloat16, of
/// 2^-11 in float16.
Tensor rand(const Dims& shape, DType dtype = DType::float32, Device device = default_device(),
            Generator& generator = default_generator());
/// Normal with mean 0 and variance 1, by Box and Muller's method in double.
Tensor randn(const Dims& shape, DType dtype = DType::float32, Device device = default_device(),
             Generator& generator = default_generator());
/// Uniform in [low, high). Throws ValueError unless low <= high and both are finite.
Tensor uniform(const Dims& shape, double low, double high, DType dtype = DType::float32,
               Device device = default_device(), Generator& generator = default_generator());
/// Throws ValueError for a negative or infinite std.
Tensor normal(const Dims& shape, double mean, double std, DType dtype = DType::float32,
              Device device = default_device(), Generator& generator = default_generator());
/// Integers in [low, high), of any dtype that holds them exactly. Throws ValueError if there are
/// none or dtype does not.
Tensor randint(int64_t low, int64_t high, const Dims& shape, DType dtype = DType::int64,
               Device device = default_device(), Generator& generator = default_generator());
/// 0 .. n-1 in random order.
Tensor randperm(int64_t n, DType dtype = DType::int64, Device device = default_device(),
                Generator& generator = default_generator());

/// Overwrite x, of any strides, with what uniform() and normal() give for its shape.
/// Throw DTypeError unless x is floating, ShapeError if its elements share memory.
void uniform_(Tensor& x, double low, double high, Generator& generator = default_generator());
void normal_(Tensor& x, double mean, double std, Generator& generator = default_generator());

}  // namespace accrue
