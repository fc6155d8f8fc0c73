// What the lanes of a warp do together. A lane waits until every lane of its mask that still lives
// has made the same call; then values change hands. Only __syncwarp() orders memory accesses: a
// shuffle does not, on the device or here.
#include <algorithm>
#include <bit>
#include <cstring>

#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/report.h>

namespace accrue::simt {
namespace {

constexpr uint64_t kNobodysValue = 0x7fc0dead7fc0deadU;  // a NaN, as float32 and as float64

std::string text_of(const WarpCall& call) {
  return join(name_of(call.operation), " of lanes 0x", std::hex, call.mask);
}

}  // namespace

const char* name_of(WarpOperation operation) {
  switch (operation) {
    case WarpOperation::sync:
      return "__syncwarp";
    case WarpOperation::shuffle:
      return "__shfl_sync";
    case WarpOperation::ballot:
      return "__ballot_sync";
    case WarpOperation::any:
      return "__any_sync";
    case WarpOperation::all:
      return "__all_sync";
  }
  return "";
}

uint64_t Block::warp_operation(const WarpCall& call, Site site) {
  Thread& me = *current_;
  const unsigned lane = me.number % 32;
  me.call = call;
  me.site = site;
  if ((call.mask >> lane & 1) == 0) {
    Finding(Fault::warp, join(text_of(call), " is called by lane ", lane))
        .kernel()
        .thread()
        .line("at", simt::text_of(site))
        .report("the mask names every lane that calls, the caller included");
    kill(cudaErrorLaunchFailure);
  }
  me.state = State::at_warp_operation;
  warps_[me.number / 32].waiting |= 1U << lane;
  if (!try_warp(me.number / 32)) give_way();
  me.state = State::ready;
  return me.call.result;
}

// Completes the operations of the warp whose lanes have all arrived. True if the current thread,
// waiting in one of them, may go on at once.
bool Block::try_warp(unsigned warp_number) {
  Warp& warp = warps_[warp_number];
  Thread* lanes = &threads_[size_t{32} * warp_number];
  bool go_on = false;
  for (uint32_t left = warp.waiting; left != 0;) {
    const int first = std::countr_zero(left);
    const uint32_t needed = lanes[first].call.mask & ~warp.exited;
    left &= ~(1U << first);
    if ((warp.waiting & needed) != needed) continue;
    for (int lane = 0; lane < 32; ++lane) {
      if ((needed >> lane & 1) != 0) check_same_call(lanes[first], lanes[lane]);
    }
    exchange_values(warp_number, needed);
    warp.waiting &= ~needed;
    left &= ~needed;
    const size_t newly = ready_.size();
    for (int lane = 0; lane < 32; ++lane) {
      if ((needed >> lane & 1) == 0) continue;
      if (&lanes[lane] == current_) {
        go_on = true;
      } else {
        make_ready(lanes[lane]);
      }
    }
    order_from(newly);
  }
  return go_on;
}

void Block::check_same_call(const Thread& one, const Thread& other) {
  if (one.call.operation == other.call.operation && one.call.mask == other.call.mask) return;
  if (first_time(Fault::warp, hash(one.site), hash(other.site))) {
    Finding(Fault::warp, "lanes of one mask make different calls")
        .kernel()
        .line("one", describe(one))
        .line("", "in " + text_of(one.call) + " at " + simt::text_of(one.site))
        .line("another", describe(other))
        .line("", "in " + text_of(other.call) + " at " + simt::text_of(other.site))
        .report("all lanes of a mask make the same call with the same mask");
  }
  kill(cudaErrorLaunchFailure);
}

void Block::exchange_values(unsigned warp_number, uint32_t lanes) {
  Warp& warp = warps_[warp_number];
  Thread* threads = &threads_[size_t{32} * warp_number];
  const WarpOperation operation = threads[std::countr_zero(lanes)].call.operation;
  accesses_without_progress_ = 0;
  uint32_t votes = 0;
  uint32_t seen[32] = {};  // the join of all clocks
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    votes |= static_cast<uint32_t>(threads[lane].call.value != 0) << lane;
    for (int i = 0; i < 32; ++i) seen[i] = std::max(seen[i], warp.clock[lane][i]);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    Thread& thread = threads[lane];
    WarpCall& call = thread.call;
    switch (operation) {
      case WarpOperation::sync:
        std::memcpy(warp.clock[lane], seen, sizeof seen);
        warp.clock[lane][lane] += 1;
        break;
      case WarpOperation::ballot:
        call.result = votes;
        break;
      case WarpOperation::any:
        call.result = votes != 0;
        break;
      case WarpOperation::all:
        call.result = votes == lanes;
        break;
      case WarpOperation::shuffle: {
        const auto source = static_cast<unsigned>(call.source);
        const bool there = source < 32 && (lanes >> source & 1) != 0;
        call.result = there ? threads[source].call.value : kNobodysValue;
        if (there || !first_time(Fault::warp, hash(thread.site))) break;
        Finding(Fault::warp, join("lane ", lane, " takes a value of lane ", call.source,
                                  ", which takes no part"))
            .kernel()
            .line("thread", describe(thread))
            .line("at", simt::text_of(thread.site))
            .line("lanes",
                  join("mask 0x", std::hex, call.mask, ", ended or absent 0x", warp.exited))
            .report("no return before a shuffle, and blocks of whole warps");
      }
    }
  }
}

uint64_t warp_operation(WarpOperation operation, unsigned mask, uint64_t value, int source,
                        Site site) {
  return running->warp_operation({operation, mask, value, source, 0}, site);
}

unsigned active_lanes() { return ~running->warp_of(running->current()).exited; }

}  // namespace accrue::simt
