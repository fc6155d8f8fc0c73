#include <algorithm>
#include <ostream>

#include <accrue/autograd/tape.h>

namespace accrue {
namespace {
std::atomic<uint64_t> next_walk = 1;
}

detail::Walk::Walk(Node* root) : id_(next_walk.fetch_add(1, std::memory_order_relaxed)) {
  try {
    root->claim(id_, 0);
    nodes_.push_back(root);
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (const Node::Edge& edge : nodes_[i]->edges()) {
        if (!edge || edge->is_leaf()) continue;
        if (edge->use_count() == 1)  // this edge's alone
          edge->claim_unshared(id_);
        else if (!edge->claim(id_, 0))
          continue;
        nodes_.push_back(static_cast<Node*>(edge.get()));
      }
  } catch (...) {
    for (Node* node : nodes_) node->unclaim();
    throw;
  }
  const auto latest_first = [](const Node* a, const Node* b) {
    return a->sequence() > b->sequence();
  };
  if (!std::is_sorted(nodes_.begin(), nodes_.end(), latest_first))
    std::sort(nodes_.begin(), nodes_.end(), latest_first);
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->set_position(static_cast<int64_t>(i));
}

detail::Walk::~Walk() {
  for (Node* node : nodes_) node->unclaim();
}

Tape Tape::of(const Tensor& value) {
  Tape tape;
  if (Node* root = node_of(value)) {
    const detail::Walk walk(root);
    for (Node* node : walk.nodes()) tape.nodes_.emplace_back(node);
  }
  return tape;
}

int64_t Tape::saved_bytes() const {
  int64_t total = 0;
  for (const auto& node : nodes_) total += node->saved_bytes();
  return total;
}

std::ostream& operator<<(std::ostream& out, const Tape& tape) {
  out << "tape of " << tape.nodes_.size() << " operators, " << tape.saved_bytes()
      << " bytes saved, in the order backward() runs them\n";
  for (const auto& node : tape.nodes_) {
    out << "  #" << node->sequence() << " " << node->name() << " " << node->spec().shape
        << " saves " << node->saved_bytes() << " bytes; gradients go to";
    for (const Node::Edge& edge : node->edges()) {
      if (!edge)
        out << " nobody";
      else if (edge->is_leaf())
        out << " leaf " << edge->spec().shape;
      else
        out << " #" << static_cast<const Node*>(edge.get())->sequence();
    }
    out << '\n';
  }
  return out;
}

}  // namespace accrue
