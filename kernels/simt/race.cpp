#include <algorithm>

#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/memory.h>
#include <accrue/kernels/simt/race.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/source_line.h>

namespace accrue::simt {
namespace {

// Happens-before, as seen by the current thread of a block.
class HappensBefore {
 public:
  HappensBefore(const Block& block, bool shared) : block_(block), shared_(shared) {}

  // Whether the stamp can have been made by this launch (and, in shared memory, by this block).
  bool alive(const Stamp& stamp) const {
    if (stamp.block == 0) return false;
    return shared_ ? stamp.block == block_.serial()
                   : static_cast<int32_t>(stamp.block - block_.first_serial()) >= 0;
  }
  bool same_block(const Stamp& stamp) const { return stamp.block == block_.serial(); }
  bool same_warp(const Stamp& stamp) const {
    return stamp.thread / 32 == block_.current().number / 32;
  }
  // REQUIRES: alive(stamp).
  bool before(const Stamp& stamp) const {
    if (!same_block(stamp)) return false;
    if (stamp.epoch != block_.epoch()) return true;
    const Thread& me = block_.current();
    if (stamp.thread == me.number) return true;
    return same_warp(stamp) && warp().clock[me.number % 32][stamp.thread % 32] >= stamp.clock;
  }
  // The same for a stamp that stands for several reads.
  bool all_before(const Stamp& reads) const {
    if (reads.many_blocks || !same_block(reads)) return false;
    if (reads.epoch != block_.epoch()) return true;
    if (reads.many_warps) return false;
    if (!reads.many_lanes) return before(reads);
    if (!same_warp(reads)) return false;
    const unsigned me = block_.current().number % 32;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const bool gone = (warp().exited >> lane & 1) != 0;
      if (lane != me && !gone && warp().clock[me][lane] < reads.clock) return false;
    }
    return true;
  }

  Stamp stamp(const void* pc) const {
    const unsigned lane = block_.current().number % 32;
    return {.block = block_.serial(),
            .thread = static_cast<uint16_t>(block_.current().number & 1023),
            .epoch = block_.epoch(),
            .clock = warp().clock[lane][lane],
            .pc = pack_pc(pc)};
  }

 private:
  const Warp& warp() const { return block_.warp_of(block_.current()); }

  const Block& block_;
  bool shared_;
};

void report_race(const Allocation& allocation, const Access& access, const Stamp& other,
                 Kind other_kind) {
  const uint64_t mine = pack_pc(access.pc), theirs = other.pc;
  if (!first_time(Fault::race, std::min(mine, theirs), std::max(mine, theirs))) return;
  const Block& block = *running;
  const bool shared = allocation.is_shared();
  const bool one_block = other.block == block.serial();
  const bool one_warp = one_block && other.thread / 32 == block.current().number / 32;
  Finding(Fault::race, join(name_of(access.kind), " after ", name_of(other_kind), " of ",
                            shared ? "shared" : "global", " memory"))
      .kernel()
      .line("memory", describe_address(access.pointer))
      .line(name_of(access.kind), block.describe(block.current()))
      .line("", "at " + source_line(reinterpret_cast<uint64_t>(access.pc)))
      .line(name_of(other_kind), block.describe(other.block, other.thread))
      .line("", "at " + source_line(unpack_pc(other.pc)))
      .report(one_warp    ? "__syncwarp() or __syncthreads() between the two, or atomics"
              : one_block ? "__syncthreads() between the two, or atomics"
                          : "blocks of one launch touch different memory, or use atomics");
}

void check_cell(Allocation& allocation, Cell& cell, const Access& access,
                const HappensBefore& order) {
  Stamp mine = order.stamp(access.pc);
  const bool both_atomic = access.kind == Kind::atomic && cell.write.atomic;
  if (order.alive(cell.write) && !both_atomic && !order.before(cell.write)) {
    report_race(allocation, access, cell.write, cell.write.atomic ? Kind::atomic : Kind::write);
  }
  const bool reads_alive = order.alive(cell.read);
  if (access.kind != Kind::read) {
    if (reads_alive && !order.all_before(cell.read)) {
      report_race(allocation, access, cell.read, Kind::read);
    }
    mine.atomic = access.kind == Kind::atomic;
    cell.write = mine;
    return;
  }
  if (reads_alive) {
    const Stamp& earlier = cell.read;
    mine.many_blocks = earlier.many_blocks || !order.same_block(earlier);
    if (order.same_block(earlier) && earlier.epoch == mine.epoch) {
      const bool new_reader = earlier.thread != mine.thread && !order.before(earlier);
      mine.many_warps = earlier.many_warps || (new_reader && !order.same_warp(earlier));
      mine.many_lanes = earlier.many_lanes || (new_reader && order.same_warp(earlier));
      if (mine.many_warps || mine.many_lanes) mine.clock = std::max(mine.clock, earlier.clock);
    }
  }
  cell.read = mine;
}

}  // namespace

const char* name_of(Kind kind) {
  return kind == Kind::read ? "read" : kind == Kind::write ? "write" : "atomic";
}

void check_races(Allocation& allocation, size_t offset, const Access& access) {
  const HappensBefore order(*running, allocation.is_shared());
  const auto [begin, end] = allocation.cells.cells(offset, access.bytes);
  for (Cell* cell = begin; cell != end; ++cell) check_cell(allocation, *cell, access, order);
}

}  // namespace accrue::simt
