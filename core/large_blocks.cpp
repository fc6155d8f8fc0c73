#include <algorithm>
#include <bit>
#include <new>

#include <sys/mman.h>

#include <accrue/core/large_blocks.h>

namespace accrue {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHeader = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kFirstRegion = kHugePage;  // a process with small tensors stays small
constexpr size_t kNextRegion = size_t{32} << 20;
constexpr size_t kLargest = size_t{1} << 46;
constexpr int kSearched = 32;  // candidates of one bin that are compared

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Up to 15 pages a bin is one size; above, eight bins share each power of two.
int bin_of(size_t bytes) {
  const size_t pages = bytes / kPage;
  if (pages < 16) return static_cast<int>(pages);
  const int log = std::bit_width(pages) - 1;
  return 16 + (log - 4) * 8 + static_cast<int>(pages >> (log - 3) & 7);
}

}  // namespace

struct LargeBlocks::Block {
  size_t bytes;         // header and payload, whole pages
  size_t bytes_before;  // of the block in front, 0 for the first of a region
  bool is_last;
  bool is_free;
  Block* next;  // in its bin, while free
  Block* previous;

  void* payload() { return reinterpret_cast<char*>(this) + kHeader; }
  static Block* of(void* payload) {
    return reinterpret_cast<Block*>(static_cast<char*>(payload) - kHeader);
  }
  Block* after() { return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) + bytes); }
  Block* before() { return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) - bytes_before); }
};

/// Lies at the start of its memory. The first block's header ends with the first page, the last
/// block with the last but 64 bytes, so that payloads start on pages.
struct LargeBlocks::Region {
  Region* next;
  size_t bytes;

  Block* first() {
    return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) + kPage - kHeader);
  }
};

void* LargeBlocks::allocate(size_t bytes) noexcept {
  if (bytes > kLargest) return nullptr;
  const size_t needed = round_up(bytes + kHeader, kPage);
  Block* block = best_fit(needed);
  if (!block) {
    if (!grow(needed)) return nullptr;
    block = best_fit(needed);
  }
  unlink(block);
  if (block->bytes > needed) {
    const size_t rest = block->bytes - needed;
    block->bytes = needed;
    Block* behind = block->after();
    *behind = {.bytes = rest, .bytes_before = needed, .is_last = block->is_last};
    block->is_last = false;
    if (!behind->is_last) behind->after()->bytes_before = rest;
    push(behind);
  }
  return block->payload();
}

void LargeBlocks::deallocate(void* memory) noexcept {
  Block* block = Block::of(memory);
  if (!block->is_last && block->after()->is_free) {
    Block* behind = block->after();
    unlink(behind);
    block->bytes += behind->bytes;
    block->is_last = behind->is_last;
  }
  if (block->bytes_before != 0 && block->before()->is_free) {
    Block* front = block->before();
    unlink(front);
    front->bytes += block->bytes;
    front->is_last = block->is_last;
    block = front;
  }
  if (!block->is_last) block->after()->bytes_before = block->bytes;
  push(block);
}

LargeBlocks::Block* LargeBlocks::best_fit(size_t bytes) noexcept {
  const int bin = bin_of(bytes);
  // The request's own bin may hold smaller blocks; every block of a higher one is large enough.
  for (Block* start : {bins_[static_cast<size_t>(bin)], first_in_bin_from(bin + 1)}) {
    Block* best = nullptr;
    int searched = 0;
    for (Block* b = start; b && searched < kSearched; b = b->next, ++searched) {
      if (b->bytes == bytes) return b;
      if (b->bytes > bytes && (!best || b->bytes < best->bytes)) best = b;
    }
    if (best) return best;
  }
  return nullptr;
}

LargeBlocks::Block* LargeBlocks::first_in_bin_from(int bin) const noexcept {
  auto word = static_cast<size_t>(bin / 64);
  uint64_t bits = filled_[word] & (~uint64_t{0} << (bin % 64));
  while (bits == 0) {
    if (++word == filled_.size()) return nullptr;
    bits = filled_[word];
  }
  return bins_[word * 64 + static_cast<size_t>(std::countr_zero(bits))];
}

void LargeBlocks::push(Block* block) noexcept {
  const auto bin = static_cast<size_t>(bin_of(block->bytes));
  block->is_free = true;
  block->previous = nullptr;
  block->next = bins_[bin];
  if (block->next) block->next->previous = block;
  bins_[bin] = block;
  filled_[bin / 64] |= uint64_t{1} << (bin % 64);
}

void LargeBlocks::unlink(Block* block) noexcept {
  const auto bin = static_cast<size_t>(bin_of(block->bytes));
  block->is_free = false;
  if (block->next) block->next->previous = block->previous;
  (block->previous ? block->previous->next : bins_[bin]) = block->next;
  if (!bins_[bin]) filled_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
}

bool LargeBlocks::grow(size_t bytes) noexcept {
  const size_t exact = round_up(bytes + kPage, kHugePage);
  const size_t usual =
      regions_ ? std::max(kNextRegion, static_cast<size_t>(reserved_) / 4) : kFirstRegion;
  return map_region(std::max(exact, round_up(usual, kHugePage))) || map_region(exact);
}

bool LargeBlocks::map_region(size_t bytes) noexcept {
  // Maps one huge page more and gives the unaligned ends back.
  void* mapped =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return false;
  char* const raw = static_cast<char*>(mapped);
  const size_t skipped = -reinterpret_cast<uintptr_t>(raw) % kHugePage;
  char* const start = raw + skipped;
  if (skipped != 0) munmap(raw, skipped);
  if (skipped != kHugePage) munmap(start + bytes, kHugePage - skipped);
  madvise(start, bytes, MADV_HUGEPAGE);  // only advice: small pages serve too

  regions_ = new (start) Region{regions_, bytes};
  reserved_ += static_cast<int64_t>(bytes);
  ++system_requests_;
  push(new (regions_->first()) Block{.bytes = bytes - kPage, .is_last = true});
  return true;
}

void LargeBlocks::release_free_regions() noexcept {
  for (Region** link = &regions_; *link;) {
    Region* region = *link;
    Block* block = region->first();
    if (!block->is_free || !block->is_last) {
      link = &region->next;
      continue;
    }
    unlink(block);
    *link = region->next;
    reserved_ -= static_cast<int64_t>(region->bytes);
    munmap(region, region->bytes);
  }
}

bool LargeBlocks::owns(const void* memory) const noexcept {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  for (const Region* r = regions_; r; r = r->next)
    if (at - reinterpret_cast<uintptr_t>(r) < r->bytes) return true;
  return false;
}

}  // namespace accrue
