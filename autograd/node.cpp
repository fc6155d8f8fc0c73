#include <accrue/autograd/node.h>

namespace accrue {
namespace {

std::atomic<uint64_t> next_sequence = 1;
std::atomic<int64_t> live_nodes = 0;

// Nodes whose last owner is gone, waiting to be freed by the outermost ~Node of this thread.
thread_local std::vector<Node::Edge>* waiting = nullptr;

}  // namespace

Node::Node(const TensorSpec& output, std::span<Edge> edges, int64_t saved_bytes)
    : GradTarget(output, false),
      sequence_(next_sequence.fetch_add(1, std::memory_order_relaxed)),
      saved_bytes_(saved_bytes),
      edge_count_(edges.size()) {
  if (edge_count_ <= inline_edges)
    std::move(edges.begin(), edges.end(), few_.begin());
  else
    many_.assign(std::make_move_iterator(edges.begin()), std::make_move_iterator(edges.end()));
  live_nodes.fetch_add(1, std::memory_order_relaxed);
}

// A chain of a million nodes must not be freed by a recursion a million deep: the outermost
// destructor frees, in a loop, what the inner ones put on its list.
Node::~Node() {
  live_nodes.fetch_sub(1, std::memory_order_relaxed);
  std::vector<Edge> mine;
  const bool outermost = waiting == nullptr;
  if (outermost) waiting = &mine;
  const auto hand_over = [](Edge& edge) {
    if (edge && !edge->is_leaf()) waiting->push_back(std::move(edge));
  };
  for (Edge& edge : few_) hand_over(edge);
  for (Edge& edge : many_) hand_over(edge);
  if (!outermost) return;
  while (!mine.empty()) {
    const Edge next = std::move(mine.back());
    mine.pop_back();
  }
  waiting = nullptr;
}

int64_t Node::live() { return live_nodes.load(std::memory_order_relaxed); }

void attach(Tensor& y, Ref<Node> node) { y.impl().autograd = std::move(node); }

}  // namespace accrue
