// A thread of a kernel is a fiber: a stack of its own, switched to by hand. One host thread runs
// all fibers of a launch, one at a time.
#pragma once
#include <cstddef>

#include <accrue/kernels/simt/sanitized_stack.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace accrue::simt {

constexpr size_t kFiberStack = size_t{256} << 10;

class Fiber {
 public:
  // The fiber of the host thread itself: no stack, nothing to start.
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // A fiber that begins in entry() when it is first switched to; entry calls arrived() first and
  // never returns. Stacks are reused, whatever their last fiber left on them.
  static Fiber* take(void (*entry)());
  static void arrived() { SanitizedStack::arrive(); }
  static void give_back(Fiber* fiber);
  // Forgets every fiber that was taken and not given back: nobody will switch to them again.
  static void give_back_all();

  // Leaves `this`, continues in `next`, and returns when somebody switches back.
  void switch_to(Fiber& next);

  bool has_on_stack(const void* pointer) const {
    return pointer >= stack_ && pointer < stack_ + kFiberStack;
  }

 private:
  void start_at(void (*entry)());

  char* stack_ = nullptr;
  size_t number_ = 0;
  SanitizedStack sanitized_;
#if defined(__x86_64__)
  void* stack_pointer_ = nullptr;
#else
  ucontext_t context_{};
#endif
};

}  // namespace accrue::simt
