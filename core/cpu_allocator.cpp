#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

#include <accrue/core/cpu_allocator.h>

namespace accrue {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kLargestCell = 16384;
constexpr size_t kSlabBytes = 65536;
// AddressSanitizer ends the process at 1 TiB instead of refusing.
constexpr size_t kLargestForeign = size_t{1} << 39;

/// Cells grow by 64 bytes up to 1 KiB, then by a quarter of a power of two.
size_t size_index(size_t bytes) {
  const size_t last = bytes - 1;
  if (last < 1024) return last / kLine;
  const int log = std::bit_width(last) - 1;
  return 16 + static_cast<size_t>(log - 10) * 4 + (last >> (log - 2) & 3);
}

size_t cell_bytes(size_t size) {
  if (size < 16) return (size + 1) * kLine;
  return (size_t{5} + (size - 16) % 4) << (8 + (size - 16) / 4);
}

}  // namespace

/// Lies at the start of its block; the cells follow.
struct alignas(kLine) CpuAllocator::Slab {
  Slab* next;
  size_t size;
  size_t cells;
  size_t unused;  // while releasing: cells that nobody holds

  char* first() { return reinterpret_cast<char*>(this) + sizeof(Slab); }
  char* end() { return first() + cells * cell_bytes(size); }
};

void* CpuAllocator::allocate(size_t bytes) noexcept {
  if (pass_through_) [[unlikely]]
    return allocate_foreign(bytes);
  if (bytes > kLargestCell) return large_.allocate(bytes);
  const size_t size = size_index(bytes);
  Cell* cell = cells_[size];
  if (!cell) return new_cell(size);
  cells_[size] = cell->next;
  return cell;
}

void CpuAllocator::deallocate(void* memory, size_t bytes) noexcept {
  if (foreign_blocks_ != 0 && !large_.owns(memory)) [[unlikely]] {
    --foreign_blocks_;
    foreign_bytes_ -= static_cast<int64_t>(bytes);
    std::free(memory);
    return;
  }
  if (bytes > kLargestCell) return large_.deallocate(memory);
  Cell*& list = cells_[size_index(bytes)];
  list = new (memory) Cell{list};
}

void* CpuAllocator::new_cell(size_t size) noexcept {
  const size_t bytes = cell_bytes(size);
  if (fresh_[size] == fresh_end_[size]) {
    const size_t cells = std::max<size_t>(kSlabBytes / bytes, 8);
    void* memory = large_.allocate(sizeof(Slab) + cells * bytes);
    if (!memory) return nullptr;
    slabs_ = new (memory) Slab{slabs_, size, cells, 0};
    fresh_[size] = slabs_->first();
    fresh_end_[size] = slabs_->end();
  }
  char* cell = fresh_[size];
  fresh_[size] += bytes;
  return cell;
}

void* CpuAllocator::allocate_foreign(size_t bytes) noexcept {
  if (bytes > kLargestForeign) return nullptr;
  void* memory = std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
  if (!memory) return nullptr;
  ++foreign_blocks_;
  ++foreign_requests_;
  foreign_bytes_ += static_cast<int64_t>(bytes);
  return memory;
}

void CpuAllocator::release_cached() noexcept {
  size_t n = 0;
  for (const Slab* s = slabs_; s; s = s->next) ++n;
  const std::unique_ptr<Slab*[]> slabs(new (std::nothrow) Slab*[n]);
  if (slabs) release_slabs({slabs.get(), n});
  large_.release_free_regions();
}

void CpuAllocator::release_slabs(std::span<Slab*> slabs) noexcept {
  // A slab goes when each of its cells is on the list or was never used.
  size_t n = 0;
  for (Slab* s = slabs_; s; s = s->next) {
    const bool newest = fresh_end_[s->size] == s->end();
    s->unused = newest ? static_cast<size_t>(s->end() - fresh_[s->size]) / cell_bytes(s->size) : 0;
    slabs[n++] = s;
  }
  std::sort(slabs.begin(), slabs.end());
  const auto slab_of = [&](Cell* cell) {
    return *(std::upper_bound(slabs.begin(), slabs.end(), reinterpret_cast<Slab*>(cell)) - 1);
  };
  for (Cell* list : cells_)
    for (Cell* c = list; c; c = c->next) ++slab_of(c)->unused;
  for (Cell*& list : cells_)
    for (Cell** link = &list; *link;) {
      const Slab* slab = slab_of(*link);
      if (slab->unused == slab->cells)
        *link = (*link)->next;
      else
        link = &(*link)->next;
    }
  for (Slab** link = &slabs_; *link;) {
    Slab* slab = *link;
    if (slab->unused != slab->cells) {
      link = &slab->next;
      continue;
    }
    if (fresh_end_[slab->size] == slab->end())
      fresh_[slab->size] = fresh_end_[slab->size] = nullptr;
    *link = slab->next;
    large_.deallocate(slab);
  }
}

}  // namespace accrue
