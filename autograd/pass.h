// Pass: one walk of backward over a tape. The engine is a loop; this class is its bookkeeping.
//
// Slots of the values in between live here and are emptied as their node runs, so memory falls as
// the walk proceeds. Leaves keep their own slots. For each leaf the pass counts the contributions
// still to come: at zero its gradient is complete and its hooks run, under the rest of the walk.
#pragma once
#include <span>
#include <vector>

#include <accrue/autograd/tape.h>

namespace accrue::detail {

class Pass {
 public:
  /// Adds to the `.grad` of every leaf below `root`.
  explicit Pass(Node* root);
  /// Touches no `.grad`: collects the gradients of `inputs` for results().
  Pass(Node* root, std::span<const Tensor> inputs);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  /// Whether the root depends on input i, as far as the tape can tell.
  bool reaches(size_t i) const { return reached_[i]; }

  /// Throws what an operator or a hook throws. Gradients that were absent are absent then; those
  /// that were there and were added to are spoiled: reading them throws until zero_grad().
  void run(Tensor seed, bool retain_graph);

  /// One for each input, not defined where nothing came.
  std::vector<Tensor> results();

 private:
  struct LeafUse {
    Leaf* leaf;
    int64_t pending = 0;    // edges not yet walked
    bool held = false;      // had a gradient before this pass
    bool touched = false;   // this pass may have written to it
    bool captured = false;  // its gradient is a result, not `.grad`
    bool gathers = false;   // contributions, for hooks and results
    GradSlot gathered = GradSlot(GradSlot::Owner::leaf);
  };
  /// A retain_grad() that this pass has added to.
  struct Retained {
    GradSlot* slot;
    bool held;
  };

  Pass(Node* root, bool capture);
  void count_leaves();
  void prune();
  void check_not_released() const;
  bool wants(size_t position) const { return wanted_.empty() || wanted_[position] != 0; }
  GradSlot* slot_of(const Node::Edge& edge);
  void prepare_leaves(Tensor& seed);
  void run_node(Node& node, GradSlot& slot, bool retain_graph);
  void differentiate(Node& node, const Tensor& dy);
  void retain(Node& node, const Tensor& dy);
  void complete(LeafUse& use);
  void abandon() noexcept;

  Walk walk_;
  std::vector<GradSlot> slots_;  // of the nodes, by position
  std::vector<char> wanted_;     // of the nodes, by position; empty means all
  std::vector<LeafUse> leaves_;
  std::vector<Retained> retained_;
  bool capture_;
  std::vector<Ref<GradTarget>> inputs_;
  std::vector<char> reached_;  // of the inputs
  std::vector<Tensor> results_;
};

}  // namespace accrue::detail
