#include <algorithm>
#include <memory>
#include <vector>

#include <accrue/core/workspace.h>

#include <accrue/kernels/cpu/scratch.h>

namespace accrue::kernels::cpu {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kSmallestBlock = size_t{1} << 16;

// A stack of bytes in one block. What does not fit behind the lent part comes from a further block;
// when all is returned, one block of the largest total need replaces them.
class Stack {
 public:
  void* take(size_t bytes, size_t& mark) {
    mark = top_;
    bytes = (bytes + kAlign - 1) / kAlign * kAlign;
    if (blocks_.empty() || used_ + bytes > blocks_.back().bytes) {
      if (top_ == 0) blocks_.clear();
      add_block(std::max({bytes, peak_, kSmallestBlock}));
    }
    void* data = blocks_.back().memory->as<std::byte>() + used_;
    used_ += bytes;
    top_ += bytes;
    peak_ = std::max(peak_, top_);
    return data;
  }

  void release(size_t mark) {
    const size_t bytes = top_ - mark;
    top_ = mark;
    used_ -= bytes;
    if (used_ == 0 && blocks_.size() > 1) {
      blocks_.pop_back();
      used_ = blocks_.back().used_below;
    }
  }

 private:
  struct Block {
    std::unique_ptr<Workspace> memory;
    size_t bytes;
    size_t used_below;  // bytes lent of this block when the next one was added
  };

  void add_block(size_t bytes) {
    auto memory = std::make_unique<Workspace>(bytes);
    if (!blocks_.empty()) blocks_.back().used_below = used_;
    blocks_.push_back({std::move(memory), bytes, 0});
    used_ = 0;
  }

  std::vector<Block> blocks_;
  size_t used_ = 0;  // of the last block
  size_t top_ = 0;   // of all blocks
  size_t peak_ = 0;
};

Stack& stack() {
  thread_local Stack instance;
  return instance;
}

}  // namespace

Scratch::Scratch(size_t bytes) : data_(stack().take(bytes, mark_)) {}
Scratch::~Scratch() { stack().release(mark_); }

}  // namespace accrue::kernels::cpu
