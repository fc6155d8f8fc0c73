// Clipping: gradients made smaller before a step when they are too large.
//
// At the end of a window (rule W5): clip once, then step, both with the same grad_scale. `.grad`
// keeps its sums: what the norm is of, and what the bound holds for, is grad_scale times them.
#pragma once
#include <limits>

#include <accrue/optim/parameters.h>

namespace accrue::optim {

struct ClipOptions {
  /// p of the norm (Σ |g|ᵖ)^(1/p) over all gradients together; infinity for max |g|.
  double norm_type = 2;
  /// What the optimizer's step will multiply the gradients by.
  double grad_scale = 1;
  /// Throw for a norm that is infinite or NaN. If false, gradients then stay as they are, and the
  /// norm that is returned says so.
  bool error_if_nonfinite = true;
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The norm of all gradients together times grad_scale; absent ones count as nothing. Formed in
/// float64 without overflow, the same for any number of threads. Throws ValueError for a norm_type
/// or grad_scale that is not positive, and unless told otherwise for a norm that is not finite,
/// naming the parameter.
double grad_norm(const Parameters& parameters, const ClipOptions& options = {});

/// Multiplies every gradient by max_norm / norm if norm, of grad_norm(), is larger, and returns the
/// norm of before. max_norm 0 makes every gradient 0. Throws as grad_norm(), and ValueError for a
/// negative or NaN max_norm; nothing has changed then.
double clip_grad_norm(const Parameters& parameters, double max_norm,
                      const ClipOptions& options = {});

/// Puts every element of every gradient, times grad_scale, into [-max_value, max_value]; a NaN
/// stays NaN. Throws ValueError for a negative or NaN bound.
void clip_grad_value(const Parameters& parameters, double max_value, double grad_scale = 1);

}  // namespace accrue::optim
