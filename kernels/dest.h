// Dest: where a kernel puts its result, and whether the old content survives.
//
// Accumulation is expressed here and nowhere else. `into(y)` is a fresh result; autograd hands out
// Dests that overwrite when a gradient's first contribution arrives and add afterwards
// (autograd/grad_slot.h). A kernel writes through store() of store.h and never looks at the mode.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

enum class Write : uint8_t { overwrite, add };  // beta = 0, beta = 1

struct Dest {
  View view;
  Write write = Write::overwrite;

  /// False for a gradient nobody asked for: joint kernels skip it.
  bool wanted() const { return wanted_; }

  Dest() = default;
  Dest(const View& where, Write how) : view(where), write(how), wanted_(true) {}
  Dest(const Tensor& where, Write how) : view(where.view()), write(how), wanted_(true) {}

 private:
  bool wanted_ = false;
};

/// A fresh result.
inline Dest into(const Tensor& y) { return {y, Write::overwrite}; }
/// A tensor whose content the result is added to.
inline Dest adding_to(const Tensor& y) { return {y, Write::add}; }

}  // namespace accrue
