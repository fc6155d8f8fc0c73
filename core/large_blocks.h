// The lower half of the CPU's caching allocator: blocks of whole pages, cut from a few regions.
//
// A region is 2 MB aligned, advised to be huge pages, and kept. Its blocks lie one behind the
// other, each with a 64 byte header in front of a page aligned payload, so a block's neighbours
// are found by arithmetic and free ones merge at once. Free blocks wait in bins by size: the
// best fit is taken, and of equals the one freed last, which is the one most likely in cache.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace accrue {

class LargeBlocks {
 public:
  /// Aligned to 4096; null if the system has no more.
  void* allocate(size_t bytes) noexcept;
  void deallocate(void* memory) noexcept;
  /// Gives regions without a block in use back to the system.
  void release_free_regions() noexcept;
  bool owns(const void* memory) const noexcept;

  int64_t reserved() const noexcept { return reserved_; }
  int64_t system_requests() const noexcept { return system_requests_; }

 private:
  struct Block;
  struct Region;
  static constexpr int kBins = 320;

  Block* best_fit(size_t bytes) noexcept;
  Block* first_in_bin_from(int bin) const noexcept;
  bool grow(size_t bytes) noexcept;
  bool map_region(size_t bytes) noexcept;
  void push(Block* block) noexcept;
  void unlink(Block* block) noexcept;

  Region* regions_ = nullptr;
  int64_t reserved_ = 0;
  int64_t system_requests_ = 0;
  std::array<uint64_t, kBins / 64> filled_{};  // a bit for every bin that is not empty
  std::array<Block*, kBins> bins_{};
};

}  // namespace accrue
