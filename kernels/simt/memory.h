// The memory of the devices: one range of addresses, in it the shared memory of the block that
// runs and a piece for each device. Beside every byte lies its state, beside every allocation its
// stamps. Allocations are a page apart, and what was freed is kept from reuse for a while.
// Now read: access.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <accrue/kernels/simt/stamps.h>

namespace accrue::simt {

constexpr int kDevices = 2;
constexpr size_t kSharedSpan = size_t{1} << 20;
constexpr size_t kDeviceSpan = size_t{4} << 30;
constexpr size_t kArenaSpan = kSharedSpan + kDevices * kDeviceSpan;
constexpr size_t kPage = 4096;

enum class ByteState : uint8_t { none, unset, set };  // not allocated, never written, written

enum class Life : uint8_t { pending, live, freed };  // pending: its stream has not come to it

struct Allocation {
  size_t begin = 0;  // offset in the arena
  size_t bytes = 0;
  int device = -1;  // -1 is the shared memory of a block
  int number = 0;
  Life life = Life::live;
  std::string name;
  CellTable cells;

  bool is_shared() const { return device < 0; }
  bool holds(size_t offset) const { return offset - begin < bytes; }
};

class Arena {
 public:
  // Maps the arena on the first call. Throws std::runtime_error if the system does not.
  static void open();
  static bool contains(const void* pointer) { return offset(pointer) < kArenaSpan; }
  // kArenaSpan or more if the pointer is not in the arena.
  static size_t offset(const void* pointer) {
    const char* begin = begin_.load(std::memory_order_relaxed);
    return begin ? static_cast<size_t>(static_cast<const char*>(pointer) - begin) : kArenaSpan;
  }
  static char* address(size_t offset) { return begin_.load(std::memory_order_relaxed) + offset; }
  static ByteState* states(size_t offset) { return states_ + offset; }
  // The allocation whose pages hold the offset, freed ones included; null if there was none.
  static Allocation* allocation(size_t offset) { return pages_[offset / kPage]; }
  static void set_states(size_t offset, size_t bytes, ByteState state);
  // Whether every byte is allocated and written: what nearly all accesses find. False for sizes
  // that are rare in kernels, too.
  static bool surely_set(size_t offset, size_t bytes) {
    const ByteState* states = states_ + offset;
    if (bytes == 4) return are_set<uint32_t>(states);
    if (bytes == 8) return are_set<uint64_t>(states);
    return bytes == 16 && are_set<uint64_t>(states) && are_set<uint64_t>(states + 8);
  }
  // The first byte of the range in that state, or null.
  static const ByteState* find(size_t offset, size_t bytes, ByteState state);

  // Null if the device is full.
  static Allocation* allocate(int device, size_t bytes, Life life);
  static void begin_life(Allocation& allocation);
  static void release(Allocation& allocation);
  static size_t bytes_in_use(int device);
  // The live allocation that begins at the pointer, or null.
  static Allocation* find_live(const void* pointer);

 private:
  // Whether as many states as a word has bytes are all `set`.
  template <class Word>
  static bool are_set(const ByteState* states) {
    Word word;
    std::memcpy(&word, states, sizeof(Word));
    return word == static_cast<Word>(-1) / 0xff * static_cast<Word>(ByteState::set);
  }

  static std::atomic<char*> begin_;
  static ByteState* states_;
  static Allocation** pages_;
};

// Device memory is accessible while one of these lives; only Schedule::guard_host makes it
// inaccessible otherwise.
class DeviceWorks {
 public:
  DeviceWorks();
  ~DeviceWorks();
  DeviceWorks(const DeviceWorks&) = delete;
  DeviceWorks& operator=(const DeviceWorks&) = delete;
};
void guard_device_memory(bool on);

// "allocation 3 'dx' of device 0 (4000 bytes), byte 16", or how far beyond it.
std::string describe_address(const void* pointer);

}  // namespace accrue::simt
