#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/grid.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/shared.h>

namespace accrue::simt {

constinit thread_local Block* running = nullptr;

const Launch& Block::launch() const { return grid_.launch(); }
uint32_t Block::first_serial() const { return grid_.first_serial(); }

void Block::start(uint32_t serial, uint3 index) {
  const dim3 size = launch().block;
  const unsigned n = size.x * size.y * size.z;
  serial_ = serial;
  index_ = index;
  epoch_ = 0;
  alive_ = n;
  at_barrier_ = votes_ = 0;
  accesses_without_progress_ = 0;
  ready_.clear();
  next_ = 0;
  clear_shared();
  warps_.assign((n + 31) / 32, Warp{});
  for (Warp& warp : warps_) {
    for (int lane = 0; lane < 32; ++lane) warp.clock[lane][lane] = 1;
  }
  if (n % 32 != 0) warps_.back().exited = ~0U << n % 32;
  threads_.assign(n, Thread{});
  for (unsigned i = 0; i < n; ++i) {
    threads_[i].index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    threads_[i].number = i;
    ready_.push_back(&threads_[i]);
  }
  order_from(0);
  executor().counts.blocks += 1;
  executor().counts.threads += n;
}

bool Block::run(uint32_t serial, uint3 index) {
  start(serial, index);
  running = this;
  while (next_ < ready_.size() && !killed_) {
    current_ = ready_[next_++];
    if (!current_->fiber) current_->fiber = Fiber::take(&Block::fiber_main);
    current_->state = State::ready;
    host_.switch_to(*current_->fiber);
  }
  if (alive_ != 0 && !killed_) report_deadlock();
  if (killed_) Fiber::give_back_all();
  running = nullptr;
  return !killed_;
}

// The life of a fiber: threads that have not begun follow each other on its stack, and a kernel
// without barriers needs one fiber only.
void Block::fiber_main() {
  Fiber::arrived();
  for (;;) {
    Block& block = *running;
    Thread& me = *block.current_;
    block.grid_.call().run();
    block.finish(me);
    Fiber* fiber = std::exchange(me.fiber, nullptr);
    const bool more = block.next_ < block.ready_.size() && !block.killed_ &&
                      block.ready_[block.next_]->state == State::fresh;
    if (!more) {
      Fiber::give_back(fiber);
      fiber->switch_to(block.host_);
    }
    block.current_ = block.ready_[block.next_++];
    block.current_->fiber = fiber;
    block.current_->state = State::ready;
  }
}

void Block::give_way() {
  executor().counts.switches += 1;
  Fiber* mine = current_->fiber;
  if (killed_ || next_ == ready_.size()) return mine->switch_to(host_);
  current_ = ready_[next_++];
  if (!current_->fiber) current_->fiber = Fiber::take(&Block::fiber_main);
  current_->state = State::ready;
  if (current_->fiber != mine) mine->switch_to(*current_->fiber);
}

void Block::kill(cudaError_t error) {
  executor().device(grid_.device()).failure = error;
  killed_ = true;
  for (;;) current_->fiber->switch_to(host_);
}

void Block::count_access() {
  Executor& all = executor();
  all.counts.accesses += 1;
  const uint64_t every = all.schedule.preempt_every;
  if (++accesses_without_progress_ > all.patience) {
    Finding(Fault::deadlock, join("the block made ", all.patience, " accesses and no progress"))
        .kernel()
        .thread()
        .report("no waiting for another thread but at a barrier or a warp operation");
    kill(cudaErrorLaunchFailure);
  }
  if (every == 0 || all.counts.accesses % every != 0 || next_ == ready_.size()) return;
  make_ready(*current_);
  give_way();
}

void Block::make_ready(Thread& thread) {
  thread.state = State::ready;
  ready_.push_back(&thread);
}

void Block::order_from(size_t first) {
  const auto begin = ready_.begin() + static_cast<std::ptrdiff_t>(first);
  const Order order = executor().schedule.order;
  if (order == Order::reverse) std::reverse(begin, ready_.end());
  if (order != Order::random) return;
  for (size_t i = ready_.size(); i > first + 1; --i) {
    std::swap(ready_[i - 1], ready_[first + grid_.dice().roll(i - first)]);
  }
}

void Block::finish(Thread& thread) {
  thread.state = State::done;
  --alive_;
  accesses_without_progress_ = 0;
  Warp& warp = warps_[thread.number / 32];
  warp.exited |= 1U << thread.number % 32;
  if (warp.waiting != 0) try_warp(thread.number / 32);
  try_barrier();
}

unsigned Block::barrier(int vote, Site site) {
  current_->state = State::at_barrier;
  current_->site = site;
  at_barrier_ += 1;
  votes_ += static_cast<unsigned>(vote);
  try_barrier();
  give_way();
  return last_votes_;
}

void Block::try_barrier() {
  if (alive_ == 0 || at_barrier_ != alive_) return;
  const auto waits = [](const Thread& t) { return t.state == State::at_barrier; };
  const Thread& first = *std::find_if(threads_.begin(), threads_.end(), waits);
  if (alive_ != threads_.size() && first_time(Fault::barrier, hash(first.site))) {
    Finding(Fault::barrier, join(threads_.size() - alive_, " of ", threads_.size(),
                                 " threads ended before a barrier that the others wait at"))
        .kernel()
        .line("waits", join(describe(first), " and ", alive_ - 1, " others"))
        .line("", "at " + text_of(first.site))
        .report("every thread of a block reaches every barrier: no return before it");
  }
  for (const Thread& thread : threads_) {
    if (!waits(thread) || hash(thread.site) == hash(first.site)) continue;
    if (!first_time(Fault::barrier, hash(first.site), hash(thread.site))) break;
    Finding(Fault::barrier, "threads of one block wait at different barriers")
        .kernel()
        .line("one", describe(first) + " at " + text_of(first.site))
        .line("another", describe(thread) + " at " + text_of(thread.site))
        .report("one __syncthreads() that all threads of the block reach");
    break;
  }
  release_barrier();
}

void Block::release_barrier() {
  if (next_ > (size_t{1} << 16)) {  // what has run is only in the way
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = 0;
  }
  const size_t first = ready_.size();
  for (Thread& thread : threads_) {
    if (thread.state == State::at_barrier) make_ready(thread);
  }
  last_votes_ = votes_;
  votes_ = 0;
  at_barrier_ = 0;
  accesses_without_progress_ = 0;
  ++epoch_;
  order_from(first);
}

void Block::report_deadlock() {
  std::map<std::string, std::vector<unsigned>> waiting;  // by the call they wait in
  const Thread* first = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.state != State::at_barrier && thread.state != State::at_warp_operation) continue;
    if (!first) first = &thread;
    std::string what = "a barrier";
    if (thread.state == State::at_warp_operation) {
      what = join(name_of(thread.call.operation), " of lanes 0x", std::hex, thread.call.mask);
    }
    waiting[what + " at " + text_of(thread.site)].push_back(thread.number);
  }
  if (first && first_time(Fault::deadlock, hash(first->site))) {
    Finding finding(Fault::deadlock, "no thread of the block can go on");
    finding.kernel();
    for (const auto& [what, threads] : waiting) {
      finding.line("waiting", join(threads.size(), threads.size() == 1 ? " thread, " : " threads, ",
                                   describe(serial_, threads.front()), " first, in ", what));
    }
    finding.line("ended", join(threads_.size() - alive_, " threads"))
        .report("all threads of a block, or all lanes of a mask, make the same call");
  }
  executor().device(grid_.device()).failure = cudaErrorLaunchFailure;
  killed_ = true;
}

std::string Block::describe(uint32_t serial, unsigned thread) const {
  const dim3 size = launch().block;
  const uint3 index{thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
  return join("thread ", text_of(index), " of block ", text_of(grid_.block_of(serial)));
}

uint3 thread_index() { return running->current().index; }
uint3 block_index() { return running->index(); }
dim3 block_size() { return running->launch().block; }
dim3 grid_size() { return running->launch().grid; }
int lane() { return static_cast<int>(running->current().number % 32); }
unsigned block_barrier(int vote, Site site) { return running->barrier(vote, site); }

}  // namespace accrue::simt
