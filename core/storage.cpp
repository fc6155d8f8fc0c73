#include <accrue/core/allocator.h>
#include <accrue/core/storage.h>

namespace accrue {

Storage::Storage(size_t bytes, Device device)
    : bytes_(bytes), device_(device), kind_(current_memory_kind()) {
  data_ = allocate(device, bytes, kind_);
}

Storage::~Storage() { deallocate(device_, data_, bytes_, kind_); }

void Storage::set_kind(MemoryKind kind) {
  recount(device_, bytes_, kind_, kind);
  kind_ = kind;
}
}  // namespace accrue
