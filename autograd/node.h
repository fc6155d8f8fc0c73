// Node: one entry of the tape: an operator that ran, and what it needs to run backward.
//
// Nodes are owned by the tensors they made and by the edges of later nodes; a node never owns its
// output. Operators do not derive from Node: they are plain structs, see op.h.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <accrue/autograd/meta.h>

namespace accrue {

class Node : public GradTarget {
 public:
  using Edge = Ref<GradTarget>;

  ~Node() override;

  virtual const char* name() const = 0;
  /// Adds the gradients of the inputs, given that of the output, to their sinks.
  virtual void backward(const Tensor& dy, std::span<GradSink> dx) = 0;
  /// Frees what was saved; there is no backward() after it.
  virtual void release() = 0;
  bool is_released() const { return released_; }

  /// When the operator ran, by its thread's clock, which moves on past the sequence of every
  /// operator whose result it meets. An operator can only take what earlier ones made; so latest
  /// first is an order in which every gradient is complete when it is used.
  uint64_t sequence() const { return sequence_; }
  /// Where the inputs' gradients go; null for an input whose gradient nobody wants.
  std::span<const Edge> edges() const { return {many_ ? many_.get() : few_.data(), edge_count_}; }
  /// Bytes kept alive for backward.
  int64_t saved_bytes() const { return saved_bytes_; }

  /// retain_grad() of the output: its gradient is kept here too.
  std::unique_ptr<GradSlot> retained;
  /// Where the operator was called; filled in anomaly mode only.
  std::unique_ptr<std::string> site;

  /// Nodes alive in this process; tests show with it that nothing is left behind.
  static int64_t live();

 protected:
  Node(const Tensor& output, std::span<Edge> edges, int64_t saved_bytes);
  void set_released() { saved_bytes_ = 0, released_ = true; }

 private:
  static constexpr size_t inline_edges = 4;
  struct Waiting;
  static thread_local Waiting waiting;
  static uint64_t next_sequence(std::span<const Edge> edges);

  uint64_t sequence_;
  int64_t saved_bytes_;
  bool released_ = false;
  size_t edge_count_;
  std::array<Edge, inline_edges> few_;
  std::unique_ptr<Edge[]> many_;
  Node* next_to_free_ = nullptr;
};

/// Makes `node` the origin of y.
void attach(Tensor& y, Ref<Node> node);

}  // namespace accrue
