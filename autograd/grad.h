// Gradients as a user handles them, beyond Tensor's own members: grad() without touching
// `.grad`, detach, retain_grad, and the memory behind `.grad`.
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include <accrue/core/tensor.h>

namespace accrue {

struct GradOptions {
  /// Keep what the nodes saved, so that the same graph can be walked again.
  bool retain_graph = false;
  /// dL/d(output); 1 if not defined, which needs an output of one element.
  Tensor gradient;
  /// Let an input be one that the output does not depend on; its gradient is then not defined.
  bool allow_unused = false;
};

/// d(output)/d(input) for each input, as fresh tensors; no `.grad` changes (rule R7).
/// Throws AutogradError for an input without grad, or unused unless allowed.
std::vector<Tensor> grad(const Tensor& output, std::span<const Tensor> inputs,
                         const GradOptions& options = {});
std::vector<Tensor> grad(const Tensor& output, std::initializer_list<Tensor> inputs,
                         const GradOptions& options = {});

/// The same values outside the tape. Shares memory and the version counter.
Tensor detach(const Tensor& x);
/// Makes `.grad` of a computed tensor available after backward(); it accumulates as a leaf's does.
void retain_grad(const Tensor& x);
/// Makes `buffer` the memory of a leaf's gradient from now on, and the gradient absent: a slice of
/// a data-parallel bucket, say. Throws ShapeError, DTypeError if it does not fit, or overlaps
/// itself, AutogradError if it lies in the memory of the leaf's values.
void bind_grad(const Tensor& leaf, const Tensor& buffer);
/// Makes `value` a leaf's gradient: copied into its memory.
void set_grad(const Tensor& leaf, const Tensor& value);
/// zero_grad() that also gives the gradient's memory back (rule R2).
void release_grad(const Tensor& leaf);

}  // namespace accrue
