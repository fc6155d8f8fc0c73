// Tape: the operators that led to a value, latest first: exactly the order in which backward()
// will run them. There is no tape object to manage; this is a view of what the values own.
//
//   std::cout << Tape::of(loss);      prints one line for each operator, with the bytes it saved
#pragma once
#include <iosfwd>
#include <span>
#include <vector>

#include <accrue/autograd/node.h>

namespace accrue {

class Tape {
 public:
  /// Empty for a leaf or a tensor outside any graph.
  static Tape of(const Tensor& value);

  /// The nodes, latest first.
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }
  size_t size() const { return nodes_.size(); }
  /// Bytes kept alive for backward, shared ones counted by each that keeps them.
  int64_t saved_bytes() const;

  friend std::ostream& operator<<(std::ostream& out, const Tape& tape);

 private:
  std::vector<Ref<Node>> nodes_;
};

namespace detail {

/// The nodes below a root, latest first, claimed for one walk while this lives: each node's
/// position() is its place in nodes().
class Walk {
 public:
  explicit Walk(Node* root);
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  uint64_t id() const { return id_; }
  std::span<Node* const> nodes() const { return nodes_; }

 private:
  uint64_t id_;
  std::vector<Node*> nodes_;  // owned by the root, through edges
};

}  // namespace detail

}  // namespace accrue
