// Anomaly mode: finds the operator that made the first number that is not finite.
//
// While an AnomalyMode lives, every operator of this thread is checked: if it makes a NaN or an
// infinity from finite numbers, forward or backward, AutogradError names the operator, where it was
// called, the shape and the first bad index. It reads every result, so it is for debugging only.
// A program linked with -rdynamic shows the callers' names; without, `addr2line -Cfpe PROGRAM
// OFFSET` turns "program+OFFSET" into a line.
#pragma once
#include <span>

#include <accrue/core/tensor.h>

namespace accrue {

class Node;
class GradSlot;

bool anomaly_enabled();

class AnomalyMode {
 public:
  explicit AnomalyMode(bool on = true);
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool before_;
};

namespace detail {
/// Remembers with the node where its operator was called.
void note_site(Node& node);
void check_forward(const char* op, const Tensor& y, std::span<const Tensor> inputs);
/// Which of them hold a NaN or an infinity.
std::vector<bool> are_bad(std::span<const Tensor> gradients);
/// `dx` are the gradients the node's backward made from dy; not defined where none was wanted.
void check_backward(const Node& node, const Tensor& dy, std::span<const Tensor> dx);
}  // namespace detail

}  // namespace accrue
