#include <accrue/autograd/grad_mode.h>

namespace accrue {
namespace {
thread_local bool enabled = true;
}

bool grad_enabled() { return enabled; }

detail::GradModeGuard::GradModeGuard(bool on) : before_(enabled) { enabled = on; }
detail::GradModeGuard::~GradModeGuard() { enabled = before_; }

}  // namespace accrue
