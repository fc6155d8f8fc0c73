#include <algorithm>
#include <utility>

#include <accrue/kernels/simt/mapping.h>
#include <accrue/kernels/simt/stamps.h>

namespace accrue::simt {
namespace {
size_t table_bytes(size_t bytes, unsigned shift) { return ((bytes >> shift) + 1) * sizeof(Cell); }
}  // namespace

CellTable::CellTable(size_t bytes)
    : cells_(static_cast<Cell*>(map_pages(table_bytes(bytes, 2)))), bytes_(bytes) {}

CellTable::~CellTable() {
  if (cells_) unmap_pages(cells_, table_bytes(bytes_, shift_));
}

CellTable::CellTable(CellTable&& other) noexcept
    : cells_(std::exchange(other.cells_, nullptr)), bytes_(other.bytes_), shift_(other.shift_) {}

CellTable& CellTable::operator=(CellTable&& other) noexcept {
  std::swap(cells_, other.cells_);
  std::swap(bytes_, other.bytes_);
  std::swap(shift_, other.shift_);
  return *this;
}

void CellTable::split() {
  auto* fine = static_cast<Cell*>(map_pages(table_bytes(bytes_, 0)));
  for (size_t word = 0; word <= bytes_ >> 2; ++word) {
    const Cell& cell = cells_[word];
    if ((cell.write.block | cell.read.block) == 0) continue;  // leave untouched pages untouched
    std::fill(fine + 4 * word, fine + std::min(4 * word + 4, bytes_), cell);
  }
  unmap_pages(cells_, table_bytes(bytes_, shift_));
  cells_ = fine;
  shift_ = 0;
}

}  // namespace accrue::simt
