// An operator is one struct: its name, what it saves, forward, backward. apply() runs it and, if
// some input wants a gradient, puts it on the tape. A user's operators are made the same way.
//
//   // y = tanh(x)     dx = dy * (1 - y²)
//   struct Tanh {
//     static constexpr const char* name = "tanh";
//     Saved y;
//     Tensor forward(const Tensor& x) { ... y = out; return out; }
//     void backward(const Tensor& dy, GradSink dx) {
//       if (dx) kernels::binary(Binary::tanh_grad, dy, y, into(dx));
//     }
//   };
//   Tensor tanh(const Tensor& x) { return apply(Tanh{}, x); }
//
// In backward: `into(dx)` for a gradient you write whole, `onto(dx)` for one you touch in part or
// repeatedly, `dx.add(g)` for one you hold already. Nobody else adds, and you never ask whether to.
#pragma once
#include <array>
#include <concepts>
#include <optional>
#include <utility>

#include <accrue/autograd/anomaly.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/node.h>
#include <accrue/autograd/saved.h>

namespace accrue {

namespace detail {
template <class>
using SinkFor = GradSink;
}  // namespace detail

/// Forward takes tensors; backward takes dy and one sink for each: forgetting one does not compile.
template <class Op, class... In>
concept Differentiable = requires(Op op, const Tensor& dy, const In&... in) {
  { Op::name } -> std::convertible_to<const char*>;
  { op.forward(in...) } -> std::same_as<Tensor>;
  op.backward(dy, detail::SinkFor<In>{}...);
};

/// The same for an operator of any number of inputs, such as cat.
template <class Op>
concept DifferentiableList = requires(Op op, const Tensor& dy, std::span<const Tensor> in,
                                      std::span<GradSink> dx) {
  { Op::name } -> std::convertible_to<const char*>;
  { op.forward(in) } -> std::same_as<Tensor>;
  op.backward(dy, dx);
};

inline constexpr size_t kAnyNumber = 0;

/// The node of an operator with that many inputs.
template <class Op, size_t Inputs>
class OpNode final : public Node {
 public:
  OpNode(Op&& op, const Tensor& output, std::span<Edge> edges, int64_t saved_bytes)
      : Node(output, edges, saved_bytes), op_(std::move(op)) {}

  const char* name() const override { return Op::name; }
  void backward(const Tensor& dy, std::span<GradSink> dx) override {
    if constexpr (Inputs == kAnyNumber) {
      op_->backward(dy, dx);
    } else {
      [&]<size_t... I>(std::index_sequence<I...>) { op_->backward(dy, dx[I]...); }
      (std::make_index_sequence<Inputs>{});
    }
  }
  void release() override {
    op_.reset();
    set_released();
  }

 private:
  std::optional<Op> op_;
};

namespace detail {
template <size_t Inputs, class Op>
void record(Op&& op, Tensor& y, std::span<Node::Edge> edges) {
  if (std::none_of(edges.begin(), edges.end(), [](const auto& edge) { return bool(edge); })) return;
  const int64_t saved_bytes = SavedBytes::total();
  if (y.impl().use_count() > 1) y = y.alias(y.layout());  // the operator returned its input
  attach(y, make_ref<OpNode<Op, Inputs>>(std::forward<Op>(op), y, edges, saved_bytes));
  if (anomaly_enabled()) note_site(*node_of(y));
}
}  // namespace detail

/// Runs an operator, and puts it on the tape if grad mode is on and some input wants a gradient.
template <class Op, class... In>
requires Differentiable<Op, In...> Tensor apply(Op op, const In&... in) {
  detail::SavedBytes::start();
  Tensor y = op.forward(in...);
  if (anomaly_enabled()) detail::check_forward(Op::name, y, std::array{in...});
  if (grad_enabled()) {
    Node::Edge edges[] = {edge_to(in)...};
    detail::record<sizeof...(In)>(std::move(op), y, edges);
  }
  return y;
}

template <DifferentiableList Op>
Tensor apply_list(Op op, std::span<const Tensor> in) {
  detail::SavedBytes::start();
  Tensor y = op.forward(in);
  if (anomaly_enabled()) detail::check_forward(Op::name, y, in);
  if (grad_enabled()) {
    std::vector<Node::Edge> edges;
    edges.reserve(in.size());
    for (const Tensor& x : in) edges.push_back(edge_to(x));
    detail::record<kAnyNumber>(std::move(op), y, edges);
  }
  return y;
}

}  // namespace accrue
