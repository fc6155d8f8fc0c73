// One stretch of an optimizer's update over dense memory of one type, on this thread: what
// optim.cpp calls and optim_steps.cpp compiles for every target of targets.h.
#pragma once
#include <cstdint>

#include <accrue/kernels/optim.h>

namespace accrue::kernels::cpu {

/// A stretch of n elements; state that the step does not use is null.
template <class T>
struct SgdRun {
  const T* g;
  T *w, *momentum;
  int64_t n;
  bool first;
};
template <class T>
struct AdamRun {
  const T* g;
  T *w, *m, *v, *v_max;
  int64_t n, t;
  bool first;
};

void step_run(const SgdStep& s, const SgdRun<float>& run);
void step_run(const SgdStep& s, const SgdRun<double>& run);
void step_run(const AdamStep& s, const AdamRun<float>& run);
void step_run(const AdamStep& s, const AdamRun<double>& run);

}  // namespace accrue::kernels::cpu
