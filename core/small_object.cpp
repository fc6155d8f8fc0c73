// Recycles small objects per thread: a list of free cells for each size, filled by what was freed.
// Under a sanitizer every object comes from the system, so that misuse stays visible.
#include <array>
#include <new>

#include <accrue/core/ref.h>

namespace accrue::detail {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

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

struct Recycler {
  std::array<FreeCell*, kSizes> free{};
  std::array<int64_t, kSizes> kept{};
  ~Recycler() {
    for (FreeCell*& list : free)
      while (FreeCell* cell = list) {
        list = cell->next;
        ::operator delete(cell);
      }
    kept.fill(kKept);  // what dies after its thread's lists goes straight back
  }
};
thread_local Recycler recycler;

size_t size_class(size_t bytes) { return (bytes - 1) / kCell; }

}  // namespace

void* allocate_small(size_t bytes) {
  const size_t size = size_class(bytes);
  if (size >= kSizes) return ::operator new(bytes);
  FreeCell*& list = recycler.free[size];
  if (!list) return ::operator new((size + 1) * kCell);
  --recycler.kept[size];
  return std::exchange(list, list->next);
}

void free_small(void* memory, size_t bytes) noexcept {
  const size_t size = size_class(bytes);
  if (size >= kSizes || recycler.kept[size] >= kKept) return ::operator delete(memory);
  auto* cell = static_cast<FreeCell*>(memory);
  cell->next = recycler.free[size];
  recycler.free[size] = cell;
  ++recycler.kept[size];
}

#endif

}  // namespace accrue::detail
