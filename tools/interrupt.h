// Ctrl-C as something a loop asks about, so that it can stop between two micro-batches.
#pragma once

namespace accrue::tools {

/// While it lives, SIGINT and SIGTERM set a flag; a second one kills as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();

}  // namespace accrue::tools
