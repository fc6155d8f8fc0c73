// Who touched a piece of memory last. A Cell keeps the last write and the last reads of four bytes
// (of one byte once somebody uses the allocation in smaller pieces); race.cpp compares them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace accrue::simt {

struct Stamp {
  uint32_t block = 0;  // the run of a block, counted over all launches; 0 is nobody
  uint16_t thread : 10 = 0;
  uint16_t atomic : 1 = 0;
  // A read stamp stands for all reads since the last write that are not ordered among themselves.
  uint16_t many_warps : 1 = 0;
  uint16_t many_lanes : 1 = 0;
  uint16_t many_blocks : 1 = 0;
  uint16_t epoch = 0;  // barriers of the block before the access
  uint32_t clock = 0;  // __syncwarp()s of the thread before the access
  uint32_t pc = 0;     // pack_pc()
};

struct Cell {
  Stamp write;
  Stamp read;
};
static_assert(sizeof(Cell) == 32);

// The cells of one allocation, in memory that the system gives as it is touched.
class CellTable {
 public:
  CellTable() = default;
  explicit CellTable(size_t bytes);
  ~CellTable();
  CellTable(CellTable&& other) noexcept;
  CellTable& operator=(CellTable&& other) noexcept;

  // The cells of [offset, offset + bytes) of the allocation. Pieces that are no whole words turn
  // the table into one of single bytes.
  struct Range {
    Cell* begin;
    Cell* end;
  };
  Range cells(size_t offset, size_t bytes) {
    if (shift_ != 0 && ((offset | bytes) & 3) != 0) split();
    return {cells_ + (offset >> shift_), cells_ + ((offset + bytes - 1) >> shift_) + 1};
  }

 private:
  void split();

  Cell* cells_ = nullptr;
  size_t bytes_ = 0;  // of the allocation
  unsigned shift_ = 2;
};

}  // namespace accrue::simt
