#include "tools/interrupt.h"

#include <csignal>

namespace accrue::tools {
namespace {

volatile std::sig_atomic_t flag = 0;

void raise_flag(int signal_number) {
  flag = 1;
  std::signal(signal_number, SIG_DFL);
}

// A program in the background is started with SIGINT ignored, and goes on so.
auto install(int signal_number) {
  const auto before = std::signal(signal_number, raise_flag);
  if (before == SIG_IGN) std::signal(signal_number, SIG_IGN);
  return before;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  flag = 0;
  before_int_ = install(SIGINT);
  before_term_ = install(SIGTERM);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, before_int_);
  std::signal(SIGTERM, before_term_);
}

bool interrupted() { return flag != 0; }

}  // namespace accrue::tools
