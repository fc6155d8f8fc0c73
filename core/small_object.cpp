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

/// Without a destructor, so that an object which dies after its thread's lists still finds them.
struct FreeLists {
  struct List {
    FreeCell* first = nullptr;
    int64_t cells = 0;
  };
  std::array<List, kSizes> of_size;
  bool is_ending = false;
};
constinit thread_local FreeLists free_lists;

/// Empties the lists of a thread that ends; from then on nothing is kept.
struct Cleaner {
  Cleaner() = default;
  Cleaner(const Cleaner&) = delete;
  Cleaner& operator=(const Cleaner&) = delete;
  ~Cleaner() {
    free_lists.is_ending = true;
    for (FreeLists::List& list : free_lists.of_size) {
      while (FreeCell* cell = list.first) {
        list.first = cell->next;
        ::operator delete(cell);
      }
      list.cells = 0;
    }
  }
  void arm() {}
};
thread_local Cleaner cleaner;

size_t size_class(size_t bytes) { return (bytes - 1) / kCell; }

/// The first cell of a list; in a thread's first use of any it registers the thread's end.
__attribute__((noinline)) void start_list(FreeLists::List& list, void* memory) {
  cleaner.arm();
  list.first = new (memory) FreeCell{nullptr};
  list.cells = 1;
}

}  // namespace

void* allocate_small(size_t bytes) {
  const size_t size = size_class(bytes);
  if (size >= kSizes) return ::operator new(bytes);
  FreeLists::List& list = free_lists.of_size[size];
  if (!list.first) return ::operator new((size + 1) * kCell);
  --list.cells;
  return std::exchange(list.first, list.first->next);
}

void free_small(void* memory, size_t bytes) noexcept {
  const size_t size = size_class(bytes);
  FreeLists& lists = free_lists;
  if (size >= kSizes || lists.is_ending) return ::operator delete(memory);
  FreeLists::List& list = lists.of_size[size];
  if (list.cells == 0) return start_list(list, memory);
  if (list.cells >= kKept) return ::operator delete(memory);
  list.first = new (memory) FreeCell{list.first};
  ++list.cells;
}

#endif

}  // namespace accrue::detail
