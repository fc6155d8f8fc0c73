#include <accrue/core/storage.h>

namespace accrue {

Storage::Storage(size_t bytes, Device device, bool pinned)
    : bytes_(bytes), place_(device, pinned), kind_(current_memory_kind()) {
  // Not place_: a wide load of bytes just stored one by one waits until they reach the cache.
  data_ = allocate({device, pinned}, bytes, kind_);
}

Storage::~Storage() { deallocate(place_, data_, bytes_, kind_); }

void Storage::set_kind(MemoryKind kind) {
  recount(place_, bytes_, kind_, kind);
  kind_ = kind;
}
}  // namespace accrue
