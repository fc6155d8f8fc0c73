#include "tools/interrupt.h"

#include <csignal>

namespace accrue::tools {
namespace {

volatile std::sig_atomic_t flag = 0;

void raise_flag(int signal_number) {
  flag = 1;
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  flag = 0;
  std::signal(SIGINT, raise_flag);
  std::signal(SIGTERM, raise_flag);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool interrupted() { return flag != 0; }

}  // namespace accrue::tools
