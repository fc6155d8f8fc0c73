// Recycles small objects per thread: a list of free cells for each size, filled by what was freed.
// Under a sanitizer every object comes from the system, so that misuse stays visible.
#include <array>
#include <new>

#include <accrue/core/ref.h>

namespace accrue::detail {

#if ACCRUE_ADDRESS_SANITIZER || defined(__SANITIZE_THREAD__)

void* allocate_small(size_t bytes) { return ::operator new(bytes); }
void free_small(void* memory, size_t) noexcept { ::operator delete(memory); }

#else

namespace {

constexpr size_t kCell = 64;      // cells are multiples of a cache line
constexpr size_t kSizes = 16;     // up to 1 KiB
constexpr int64_t kKept = 65536;  // cells of one size a thread keeps

struct FreeCell {
  FreeCell* next;
};

// Without destructors, so that an object which dies after its thread's lists still finds them.
thread_local std::array<FreeCell*, kSizes> free_cells{};
thread_local std::array<int64_t, kSizes> kept{};
thread_local bool is_ending = false;

/// Empties the lists of a thread that ends; from then on nothing is kept.
struct Cleaner {
  Cleaner() = default;
  Cleaner(const Cleaner&) = delete;
  Cleaner& operator=(const Cleaner&) = delete;
  ~Cleaner() {
    is_ending = true;
    for (FreeCell*& list : free_cells)
      while (FreeCell* cell = list) {
        list = cell->next;
        ::operator delete(cell);
      }
    kept.fill(0);
  }
  void arm() {}
};
thread_local Cleaner cleaner;

size_t size_class(size_t bytes) { return (bytes - 1) / kCell; }

}  // namespace

void* allocate_small(size_t bytes) {
  const size_t size = size_class(bytes);
  if (size >= kSizes) return ::operator new(bytes);
  FreeCell*& list = free_cells[size];
  if (!list) return ::operator new((size + 1) * kCell);
  --kept[size];
  return std::exchange(list, list->next);
}

void free_small(void* memory, size_t bytes) noexcept {
  const size_t size = size_class(bytes);
  if (size >= kSizes || kept[size] >= kKept || is_ending) return ::operator delete(memory);
  if (!free_cells[size]) cleaner.arm();  // the first use in a thread registers its end
  free_cells[size] = new (memory) FreeCell{free_cells[size]};
  ++kept[size];
}

#endif

}  // namespace accrue::detail
