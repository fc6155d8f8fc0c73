#include <cstdint>
#include <vector>

#include <sys/mman.h>

#include <accrue/kernels/simt/fiber.h>
#include <accrue/kernels/simt/mapping.h>

namespace accrue::simt {
namespace {

struct Pool {
  std::vector<Fiber*> all;
  std::vector<Fiber*> free;
};
Pool& pool() {
  static auto* const instance = new Pool;
  return *instance;
}
constexpr size_t kGuard = 4096;  // an overflowing stack ends the program instead of another stack

}  // namespace

#if defined(__x86_64__)

// What a call preserves, by the System V ABI, is all that a switch must keep.
extern "C" void accrue_simt_switch(void** leave, void* enter);
asm(R"(
.text
.globl accrue_simt_switch
.type accrue_simt_switch, @function
accrue_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size accrue_simt_switch, .-accrue_simt_switch
)");

void Fiber::start_at(void (*entry)()) {
  // Tops of stacks are spread over the sets of the cache: all at one offset would evict each other.
  auto* top = reinterpret_cast<uint64_t*>(stack_ + kFiberStack - number_ % 32 * 128);
  *--top = 0;  // the return address of entry, which does not return
  *--top = reinterpret_cast<uint64_t>(entry);
  for (int saved_register = 0; saved_register < 6; ++saved_register) *--top = 0;
  stack_pointer_ = top;
}

void Fiber::switch_to(Fiber& next) {
  sanitized_.leave_for(next.sanitized_);
  accrue_simt_switch(&stack_pointer_, next.stack_pointer_);
  arrived();
}

#else

void Fiber::start_at(void (*entry)()) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = kFiberStack;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
}

void Fiber::switch_to(Fiber& next) {
  sanitized_.leave_for(next.sanitized_);
  swapcontext(&context_, &next.context_);
  arrived();
}

#endif

Fiber* Fiber::take(void (*entry)()) {
  Pool& fibers = pool();
  if (fibers.free.empty()) {
    auto* fresh = new Fiber;
    fresh->stack_ = static_cast<char*>(map_pages(kGuard + kFiberStack)) + kGuard;
    mprotect(fresh->stack_ - kGuard, kGuard, PROT_NONE);
    fresh->number_ = fibers.all.size();
    fibers.all.push_back(fresh);
    fibers.free.push_back(fresh);
  }
  Fiber* fiber = fibers.free.back();
  fibers.free.pop_back();
  fiber->sanitized_.begin(fiber->stack_, kFiberStack);
  fiber->start_at(entry);
  return fiber;
}

void Fiber::give_back(Fiber* fiber) { pool().free.push_back(fiber); }
void Fiber::give_back_all() {
  pool().free = pool().all;
  for (const Fiber* fiber : pool().all) fiber->sanitized_.abandon();
}

}  // namespace accrue::simt
