// The CPU's caching allocator: what tensors are made of on the host.
//
// Small blocks are cells of few sizes on slabs, each size with a last-in first-out list, so a
// chain of small operators runs in one cache line's worth of memory again and again. Slabs and
// larger blocks come from LargeBlocks. Nothing returns to the system before release_cached().
#pragma once
#include <array>
#include <span>

#include <accrue/core/allocator.h>
#include <accrue/core/large_blocks.h>

namespace accrue {

class CpuAllocator final : public Allocator {
 public:
  constexpr explicit CpuAllocator(bool pass_through) : pass_through_(pass_through) {}

  void* allocate(size_t bytes) noexcept override;
  void deallocate(void* memory, size_t bytes) noexcept override;
  void release_cached() noexcept override;
  void set_pass_through(bool on) noexcept override { pass_through_ = on; }
  int64_t reserved() const noexcept override { return large_.reserved() + foreign_bytes_; }
  int64_t system_requests() const noexcept override {
    return large_.system_requests() + foreign_requests_;
  }

 private:
  struct Cell {
    Cell* next;
  };
  struct Slab;
  static constexpr size_t kSizes = 32;

  void* new_cell(size_t size) noexcept;
  void* allocate_foreign(size_t bytes) noexcept;
  void release_slabs(std::span<Slab*> slabs) noexcept;

  std::array<Cell*, kSizes> cells_{};  // free cells of each size, the one freed last in front
  std::array<char*, kSizes> fresh_{};  // the part of each size's newest slab never used so far
  std::array<char*, kSizes> fresh_end_{};
  Slab* slabs_ = nullptr;
  LargeBlocks large_;
  bool pass_through_;
  int64_t foreign_blocks_ = 0;  // blocks in use that came from the system one by one
  int64_t foreign_bytes_ = 0;
  int64_t foreign_requests_ = 0;
};

}  // namespace accrue
