#include <algorithm>
#include <array>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/anomaly.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/hooks.h>
#include <accrue/autograd/pass.h>
#include <accrue/autograd/saved.h>

namespace accrue::detail {
namespace {

Tensor copy_of(const Tensor& x) {
  Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  kernels::copy(x, into(y));
  return y;
}

}  // namespace

// The public constructors delegate to this one, so that ~Pass gives the claims back if they throw.
Pass::Pass(Node* root, bool capture)
    : walk_(root), slots_(walk_.nodes().size()), capture_(capture) {}

Pass::Pass(Node* root) : Pass(root, false) {
  count_leaves();
  check_not_released();
}

Pass::Pass(Node* root, std::span<const Tensor> inputs) : Pass(root, true) {
  results_.resize(inputs.size());
  reached_.resize(inputs.size());
  for (const Tensor& x : inputs) inputs_.emplace_back(grad_target(x));
  count_leaves();
  prune();
  check_not_released();
}

Pass::~Pass() {
  for (const LeafUse& use : leaves_) use.leaf->unclaim();
}

void Pass::count_leaves() {
  for (Node* node : walk_.nodes())
    for (const Node::Edge& edge : node->edges()) {
      if (!edge || !edge->is_leaf()) continue;
      auto* leaf = static_cast<Leaf*>(edge.get());
      if (leaf->claim(walk_.id(), static_cast<int64_t>(leaves_.size())))
        leaves_.push_back({.leaf = leaf, .held = leaf->grad.holds()});
      ++leaves_[static_cast<size_t>(leaf->position())].pending;
    }
  for (LeafUse& use : leaves_) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].get() == use.leaf) use.captured = true, reached_[i] = 1;
    use.gathers = use.captured || !use.leaf->hooks.empty();
    if (use.held && !capture_) use.leaf->grad.value();  // throws if spoiled by an earlier pass
  }
}

// Only what lies between the root and the inputs needs to run.
void Pass::prune() {
  wanted_.assign(walk_.nodes().size(), 0);
  for (size_t i = walk_.nodes().size(); i-- > 0;) {
    Node* node = walk_.nodes()[i];
    bool wanted = false;
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].get() == node) wanted = true, reached_[k] = 1;
    for (const Node::Edge& edge : node->edges()) {
      if (!edge) continue;
      const auto at = static_cast<size_t>(edge->position());
      wanted |= edge->is_leaf() ? leaves_[at].captured : wanted_[at] != 0;
    }
    wanted_[i] = wanted;
  }
}

// What can be foreseen is refused before anything changes.
void Pass::check_not_released() const {
  for (size_t i = 0; i < walk_.nodes().size(); ++i)
    check<AutogradError>(!walk_.nodes()[i]->is_released() || !wants(i), walk_.nodes()[i]->name(),
                         ": backward through this node a second time; what it had saved was freed. "
                         "Pass retain_graph to the first backward() to keep it");
}

GradSlot* Pass::slot_of(const Node::Edge& edge) {
  if (!edge) return nullptr;
  const auto at = static_cast<size_t>(edge->position());
  if (!edge->is_leaf()) return wants(at) ? &slots_[at] : nullptr;
  LeafUse& use = leaves_[at];
  if (capture_ && !use.captured) return nullptr;
  return use.gathers ? &use.gathered : &use.leaf->grad;
}

void Pass::run(Tensor seed, bool retain_graph) {
  const NoGrad no_grad;
  if (!capture_) prepare_leaves(seed);
  slots_[0].add(seed, walk_.nodes()[0]->spec());
  seed = {};
  try {
    for (size_t i = 0; i < slots_.size(); ++i) run_node(*walk_.nodes()[i], slots_[i], retain_graph);
  } catch (...) {
    abandon();
    throw;
  }
}

// What is read must not be written: a seed in a gradient's own memory is copied, and whatever was
// saved there is out of date from now on.
void Pass::prepare_leaves(Tensor& seed) {
  for (const LeafUse& use : leaves_) {
    if (use.leaf->grad.is_memory_of(seed)) seed = copy_of(seed);
    use.leaf->grad.will_change();
  }
}

void Pass::run_node(Node& node, GradSlot& slot, bool retain_graph) {
  if (slot.holds() && wants(static_cast<size_t>(node.position()))) {
    const Tensor dy = node.hooks.empty() ? slot.take() : run_hooks(node.hooks, slot.take());
    if (node.retained && !capture_) retain(node, dy);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].get() == &node) results_[i] = copy_of(dy);
    differentiate(node, dy);
  }
  if (!retain_graph) node.release();
  for (const Node::Edge& edge : node.edges()) {
    if (!edge || !edge->is_leaf()) continue;
    LeafUse& use = leaves_[static_cast<size_t>(edge->position())];
    if (--use.pending == 0) complete(use);
  }
}

void Pass::differentiate(Node& node, const Tensor& dy) {
  const auto edges = node.edges();
  constexpr size_t few = 4;
  std::array<GradSink, few> on_stack;
  std::vector<GradSink> on_heap(edges.size() > few ? edges.size() : 0);
  const std::span<GradSink> sinks(edges.size() > few ? on_heap.data() : on_stack.data(),
                                  edges.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!edges[i]) continue;
    GradSlot* const slot = slot_of(edges[i]);
    sinks[i] = GradSink(slot, &edges[i]->spec());
    if (!edges[i]->is_leaf()) continue;
    LeafUse& use = leaves_[static_cast<size_t>(edges[i]->position())];
    use.touched |= slot == &use.leaf->grad;
  }
  if (std::none_of(sinks.begin(), sinks.end(), [](const GradSink& s) { return bool(s); })) return;
  const RunningOp running(node.name());
  if (!anomaly_enabled()) return node.backward(dy, sinks);
  const auto gradients = [&] {
    std::vector<Tensor> dx(edges.size());
    for (size_t i = 0; i < edges.size(); ++i)
      if (GradSlot* slot = slot_of(edges[i]); slot && slot->holds()) dx[i] = slot->value();
    return dx;
  };
  const std::vector<bool> were_bad = are_bad(gradients());
  node.backward(dy, sinks);
  std::vector<Tensor> dx = gradients();
  for (size_t i = 0; i < dx.size(); ++i)
    if (were_bad[i]) dx[i] = {};
  check_backward(node, dy, dx);
}

void Pass::retain(Node& node, const Tensor& dy) {
  GradSlot& slot = *node.retained;
  retained_.push_back({&slot, slot.holds()});
  slot.will_change();
  slot.add(dy, node.spec());
}

void Pass::complete(LeafUse& use) {
  if (use.gathers) {
    if (!use.gathered.holds()) return;
    const Tensor g = run_hooks(use.leaf->hooks, use.gathered.take());
    if (capture_) {
      for (size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i].get() == use.leaf) results_[i] = g;
      return;
    }
    use.touched = true;
    use.leaf->grad.add(g, use.leaf->spec());
  }
  if (capture_) return;
  const auto hooks = use.leaf->after_accumulate;  // a hook may remove itself, or the gradient
  for (const auto& hook : hooks)
    if (use.leaf->grad.holds()) (*hook)(use.leaf->grad.value());
}

void Pass::abandon() noexcept {
  const auto undo = [](GradSlot& slot, bool held) { held ? slot.spoil() : slot.reset(); };
  for (const LeafUse& use : leaves_)
    if (use.touched) undo(use.leaf->grad, use.held);
  for (const Retained& retained : retained_) undo(*retained.slot, retained.held);
}

std::vector<Tensor> Pass::results() { return std::move(results_); }

}  // namespace accrue::detail
