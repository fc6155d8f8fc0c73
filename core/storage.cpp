#include <atomic>

#include <accrue/core/allocator.h>
#include <accrue/core/storage.h>

namespace accrue {
namespace {
std::atomic<int64_t> live_storages = 0;
}

Storage::Storage(size_t bytes, Device device)
    : data_(nullptr), bytes_(bytes), device_(device), kind_(current_memory_kind()) {
  data_ = allocate(device, bytes, kind_);
  live_storages.fetch_add(1, std::memory_order_relaxed);
}

Storage::~Storage() {
  deallocate(device_, data_, bytes_, kind_);
  live_storages.fetch_sub(1, std::memory_order_relaxed);
}

void Storage::set_kind(MemoryKind kind) {
  recount(device_, bytes_, kind_, kind);
  kind_ = kind;
}

int64_t Storage::live() { return live_storages.load(std::memory_order_relaxed); }

}  // namespace accrue
