// Whether operators go on the tape. Thread-local; guards nest and survive exceptions.
#pragma once

namespace accrue {

bool grad_enabled();

namespace detail {
/// Sets the mode for its lifetime.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool on);
  ~GradModeGuard();
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  bool before_;
};
}  // namespace detail

/// While it lives, nothing this thread computes is put on a tape.
class NoGrad : detail::GradModeGuard {
 public:
  NoGrad() : GradModeGuard(false) {}
};

/// While it lives, the tape records again, inside a NoGrad.
class EnableGrad : detail::GradModeGuard {
 public:
  EnableGrad() : GradModeGuard(true) {}
};

}  // namespace accrue
