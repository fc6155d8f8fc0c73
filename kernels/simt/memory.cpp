#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <sys/mman.h>

#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/mapping.h>
#include <accrue/kernels/simt/memory.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/shared.h>

namespace accrue::simt {
namespace {

constexpr size_t kQuarantine = 16;  // freed ranges of a size that wait before reuse
constexpr size_t kLarge = 16 * kPage;
constexpr unsigned char kGarbage = 0xff;  // in float32 a NaN, as an index far outside

struct DeviceHeap {
  size_t end = 0;  // of the part ever used, from the begin of the device's span
  size_t in_use = 0;
  std::map<size_t, std::deque<Allocation*>> freed;  // by span
};
std::array<DeviceHeap, kDevices>& heaps() {
  static auto* const all = new std::array<DeviceHeap, kDevices>;
  return *all;
}

// Every allocation there ever was; that of a freed range is used again with it.
std::deque<Allocation>& allocations() {
  static auto* const all = new std::deque<Allocation>;
  return *all;
}

// Whole pages, at least one of them beyond the last byte.
size_t span_of(size_t bytes) { return (bytes + 2 * kPage - 1) / kPage * kPage; }
size_t device_begin(int device) { return kSharedSpan + static_cast<size_t>(device) * kDeviceSpan; }

int works = 0;  // DeviceWorks alive
bool guarded = false;

void protect(int protection) {
  for (int device = 0; device < kDevices; ++device) {
    const size_t used = heaps()[static_cast<size_t>(device)].end;
    if (used != 0) mprotect(Arena::address(device_begin(device)), used, protection);
  }
}

}  // namespace

std::atomic<char*> Arena::begin_{nullptr};
ByteState* Arena::states_ = nullptr;
Allocation** Arena::pages_ = nullptr;

void Arena::open() {
  if (begin_.load()) return;
  states_ = static_cast<ByteState*>(map_pages(kArenaSpan));
  // One pointer for each page.  NOLINTNEXTLINE(bugprone-sizeof-expression)
  pages_ = static_cast<Allocation**>(map_pages(kArenaSpan / kPage * sizeof(Allocation*)));
  Allocation* shared = &allocations().emplace_back();
  shared->bytes = kSharedSpan;
  shared->cells = CellTable(kSharedSpan);
  for (size_t page = 0; page < kSharedSpan / kPage; ++page) pages_[page] = shared;
  begin_.store(static_cast<char*>(map_pages(kArenaSpan)));
}

void Arena::set_states(size_t offset, size_t bytes, ByteState state) {
  std::memset(states_ + offset, static_cast<int>(state), bytes);
}

const ByteState* Arena::find(size_t offset, size_t bytes, ByteState state) {
  return static_cast<const ByteState*>(
      std::memchr(states_ + offset, static_cast<int>(state), bytes));
}

Allocation* Arena::allocate(int device, size_t bytes, Life life) {
  static int last_number = 0;
  open();
  DeviceHeap& heap = heaps()[static_cast<size_t>(device)];
  const size_t span = span_of(bytes);
  auto& freed = heap.freed[span];
  Allocation* allocation = nullptr;
  if (freed.size() > kQuarantine || (!freed.empty() && heap.end + span > kDeviceSpan)) {
    allocation = freed.front();
    freed.pop_front();
  } else {
    if (heap.end + span > kDeviceSpan) return nullptr;
    allocation = &allocations().emplace_back();
    allocation->begin = device_begin(device) + heap.end;
    heap.end += span;
    for (size_t at = allocation->begin; at < allocation->begin + span; at += kPage) {
      pages_[at / kPage] = allocation;
    }
  }
  heap.in_use += bytes;
  allocation->bytes = bytes;
  allocation->device = device;
  allocation->number = ++last_number;
  allocation->name.clear();
  allocation->cells = CellTable(bytes);
  allocation->life = Life::pending;
  if (guarded && works == 0) protect(PROT_NONE);
  if (life == Life::live) begin_life(*allocation);
  return allocation;
}

void Arena::begin_life(Allocation& allocation) {
  const DeviceWorks works_now;
  allocation.life = Life::live;
  set_states(allocation.begin, allocation.bytes, ByteState::unset);
  std::memset(address(allocation.begin), kGarbage, allocation.bytes);
}

void Arena::release(Allocation& allocation) {
  const DeviceWorks works_now;
  DeviceHeap& heap = heaps()[static_cast<size_t>(allocation.device)];
  heap.in_use -= allocation.bytes;
  heap.freed[span_of(allocation.bytes)].push_back(&allocation);
  set_states(allocation.begin, allocation.bytes, ByteState::none);
  // Large ranges go back to the system: protect() walks all pages that are there.
  const size_t span = span_of(allocation.bytes);
  if (span > kLarge) {
    madvise(address(allocation.begin), span, MADV_DONTNEED);
  } else {
    std::memset(address(allocation.begin), kGarbage, allocation.bytes);
  }
  allocation.cells = CellTable();
  allocation.life = Life::freed;
}

size_t Arena::bytes_in_use(int device) { return heaps()[static_cast<size_t>(device)].in_use; }

Allocation* Arena::find_live(const void* pointer) {
  if (!contains(pointer)) return nullptr;
  Allocation* found = allocation(offset(pointer));
  if (!found || found->is_shared() || found->life == Life::freed) return nullptr;
  return found->begin == offset(pointer) ? found : nullptr;
}

DeviceWorks::DeviceWorks() {
  if (works++ == 0 && guarded) protect(PROT_READ | PROT_WRITE);
}
DeviceWorks::~DeviceWorks() {
  if (--works == 0 && guarded) protect(PROT_NONE);
}

void guard_device_memory(bool on) {
  guarded = on;
  Arena::open();
  if (on) catch_host_access();
  protect(on ? PROT_NONE : PROT_READ | PROT_WRITE);
}

namespace {

std::string describe(const Allocation& allocation) {
  const char* life = allocation.life == Life::freed ? ", freed"
                     : allocation.life == Life::pending
                         ? ", not yet allocated in the order of its stream"
                         : "";
  const std::string name = allocation.name.empty() ? "" : " '" + allocation.name + "'";
  return join("allocation ", allocation.number, name, " of device ", allocation.device, " (",
              allocation.bytes, " bytes", life, ")");
}

}  // namespace

std::string describe_address(const void* pointer) {
  if (!Arena::contains(pointer)) return join("address ", pointer, ", no device memory");
  const size_t offset = Arena::offset(pointer);
  if (offset < kSharedSpan) return describe_shared(offset);
  const Allocation* found = Arena::allocation(offset);
  if (found && found->holds(offset)) {
    return describe(*found) + join(", byte ", offset - found->begin);
  }
  // In a gap: nearer to the allocation before it or to the one behind it?
  const size_t next_page = (offset / kPage + 1) * kPage;
  const Allocation* next = next_page < kArenaSpan ? Arena::allocation(next_page) : nullptr;
  if (next == found) next = nullptr;
  const size_t past = found ? offset - found->begin - found->bytes : kArenaSpan;
  if (next && next->begin - offset < past) {
    return describe(*next) + join(", ", next->begin - offset, " bytes before its begin");
  }
  if (!found) return join("address ", pointer, ", never allocated");
  return describe(*found) + join(", ", past, " bytes past its end");
}

void name_allocation(const void* pointer, const std::string& name) {
  const Entered entered;
  if (Allocation* found = Arena::find_live(pointer)) found->name = name;
}

}  // namespace accrue::simt
