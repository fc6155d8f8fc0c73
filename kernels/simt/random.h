// The dice of a schedule: equal seeds, equal order. (Numbers for tensors are core/random.h's.)
#pragma once
#include <cstddef>
#include <cstdint>

namespace accrue::simt {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U | 1) {}
  // A number below n. REQUIRES: n > 0.
  size_t roll(size_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<size_t>(state_ >> 16) % n;
  }

 private:
  uint64_t state_;
};

}  // namespace accrue::simt
