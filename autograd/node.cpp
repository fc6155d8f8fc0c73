#include <accrue/autograd/live_nodes.h>
#include <accrue/autograd/node.h>

namespace accrue {
namespace {

constinit thread_local uint64_t now = 0;

}  // namespace

/// Nodes whose last owner is gone, waiting to be freed by the outermost ~Node of this thread.
struct Node::Waiting {
  bool is_freeing = false;
  Node* first = nullptr;
};
constinit thread_local Node::Waiting Node::waiting;

// Lamport's clock: no counter is shared between threads.
uint64_t Node::next_sequence(std::span<const Edge> edges) {
  uint64_t latest = now;
  for (const Edge& edge : edges)
    if (edge && !edge->is_leaf())
      latest = std::max(latest, static_cast<const Node*>(edge.get())->sequence_);
  return now = latest + 1;
}

Node::Node(const Tensor& output, std::span<Edge> edges, int64_t saved_bytes)
    : GradTarget({output.shape(), output.dtype(), output.device()}, false),
      sequence_(next_sequence(edges)),
      saved_bytes_(saved_bytes),
      edge_count_(edges.size()) {
  if (edge_count_ > inline_edges) many_ = std::make_unique<Edge[]>(edge_count_);
  std::move(edges.begin(), edges.end(), many_ ? many_.get() : few_.data());
  detail::LiveNodes::add(1);
}

// A chain of a million nodes must not be freed by a recursion a million deep: the outermost
// destructor frees, in a loop, what the inner ones put on its list.
Node::~Node() {
  detail::LiveNodes::add(-1);
  for (size_t i = 0; i < edge_count_; ++i) {
    Edge& edge = many_ ? many_[i] : few_[i];
    if (!edge || edge->is_leaf()) continue;
    auto* node = static_cast<Node*>(edge.detach());
    if (node->leave()) node->next_to_free_ = std::exchange(waiting.first, node);
  }
  if (waiting.is_freeing) return;
  waiting.is_freeing = true;
  while (waiting.first) delete std::exchange(waiting.first, waiting.first->next_to_free_);
  waiting.is_freeing = false;
}

int64_t Node::live() { return detail::LiveNodes::total(); }

void attach(Tensor& y, Ref<Node> node) { y.impl().autograd = std::move(node); }

}  // namespace accrue
