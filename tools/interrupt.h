// Ctrl-C as something a loop asks about, so that it can stop between two micro-batches.
#pragma once

namespace accrue::tools {

/// While it lives, SIGINT and SIGTERM set a flag, unless they are ignored; a second one kills.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  using Handler = void (*)(int);
  Handler before_int_, before_term_;
};

bool interrupted();

}  // namespace accrue::tools
