#include "tests/errors/catalogue.h"

namespace accrue::test {

std::vector<WrongCall> autograd_errors() {
  return {
      wrong<AutogradError>("backward_without_graph", "backward", {"[]", "no graph"},
                           "some input must require grad",
                           [](World& w) { sum(w.plain).backward(); }),
      wrong<AutogradError>("backward_undefined", "backward", {"not defined"}, "call it on",
                           [](World&) { Tensor().backward(); }),
      wrong<ShapeError>("backward_of_many", "backward", {"[2, 3]"},
                        "reduce it with sum() or mean()", [](World& w) { w.computed.backward(); }),
      wrong<ShapeError>("backward_gradient_shape", "backward", {"[2, 4]", "[2, 3]"},
                        "must be equal", [](World& w) { w.computed.backward({.gradient = w.b}); }),
      wrong<DTypeError>("backward_gradient_dtype", "backward", {"float64", "float32"},
                        "must be equal",
                        [](World& w) { w.computed.backward({.gradient = w.real64}); }),
      wrong<AutogradError>("backward_twice", "sum", {"second time", "freed"}, "Pass retain_graph",
                           [](World&) {
                             const Tensor x = ones({2}).set_requires_grad();
                             const Tensor loss = sum(x * x);
                             loss.backward();
                             loss.backward();
                           }),
      wrong<AutogradError>("saved_changed_in_place", "mul",
                           {"[2]", "at version 1", "needed is version 0"}, "clone it first",
                           [](World&) {
                             const Tensor x = ones({2}).set_requires_grad();
                             Tensor factor = ones({2});
                             const Tensor loss = sum(x * factor);
                             factor += 1;
                             loss.backward();
                           }),
      wrong<AutogradError>("grad_without_grad", "grad", {"input 0"}, "call set_requires_grad()",
                           [](World& w) { grad(sum(w.computed), {w.plain}); }),
      wrong<AutogradError>("grad_unused", "grad", {"input 1", "[2, 4]"}, "set allow_unused",
                           [](World& w) {
                             grad(sum(tanh(w.a)), {w.a, w.b});
                           }),
      wrong<ShapeError>("grad_of_many", "grad", {"[2, 3]"}, "reduce it",
                        [](World& w) { grad(w.computed, {w.a}); }),
      wrong<DTypeError>("requires_grad_integer", "set_requires_grad", {"int64"},
                        "only floating point", [](World& w) { w.whole.set_requires_grad(); }),
      wrong<AutogradError>("requires_grad_computed", "set_requires_grad", {"tanh"}, "use detach()",
                           [](World& w) { w.computed.set_requires_grad(false); }),
      wrong<AutogradError>("retain_grad_without", "retain_grad", {"does not require grad"},
                           "call set_requires_grad() first",
                           [](World& w) { retain_grad(w.plain); }),
      wrong<AutogradError>("bind_grad_no_leaf", "bind_grad", {"not a leaf"}, "set_requires_grad()",
                           [](World& w) { bind_grad(w.computed, w.plain); }),
      wrong<ShapeError>("bind_grad_shape", "bind_grad", {"[2, 4]", "[2, 3]"}, "must be equal",
                        [](World& w) { bind_grad(w.a, w.b); }),
      wrong<DTypeError>("bind_grad_dtype", "bind_grad", {"float64", "float32"}, "must be equal",
                        [](World& w) { bind_grad(w.a, w.real64); }),
      wrong<ShapeError>("bind_grad_overlap", "bind_grad", {"[2, 3]", "share memory"},
                        "clone it first", [](World& w) { bind_grad(w.a, w.wide); }),
      wrong<ShapeError>("set_grad_shape", "set_grad", {"[2, 4]", "[2, 3]"}, "must be equal",
                        [](World& w) { set_grad(w.a, w.b); }),
      wrong<AutogradError>("release_grad_no_leaf", "release_grad", {"not a leaf"},
                           "set_requires_grad()", [](World& w) { release_grad(w.plain); }),
      wrong<AutogradError>(
          "hook_without_grad", "register_hook", {"does not require grad"},
          "call set_requires_grad() first",
          [](World& w) { register_hook(w.plain, [](const Tensor& g) { return g; }); }),
      wrong<AutogradError>("after_accumulate_computed", "after_accumulate", {"not a leaf"},
                           "only such a leaf",
                           [](World& w) { after_accumulate(w.computed, [](const Tensor&) {}); }),
      wrong<AutogradError>("hook_changes_shape", "register_hook", {"[1]", "[2]"},
                           "must stay the same",
                           [](World&) {
                             const Tensor x = ones({2}).set_requires_grad();
                             register_hook(x, [](const Tensor&) { return ones({1}); });
                             sum(x).backward();
                           }),
      wrong<DTypeError>(
          "gradcheck_float32", "gradcheck", {"float32"}, "float64",
          [](World& w) { gradcheck([](const auto& x) { return sum(x[0]); }, {w.a}); }),
      wrong<AutogradError>(
          "gradcheck_without_grad", "gradcheck", {"no input requires grad"},
          "call set_requires_grad()",
          [](World& w) { gradcheck([](const auto& x) { return sum(x[0]); }, {w.real64}); }),
      wrong<AutogradError>("gradcheck_difference", "gradcheck",
                           {"element 0 of input 0", "[2]", "by backward"}, "by differences",
                           [](World&) {
                             const Tensor x = ones({2}, DType::float64).set_requires_grad();
                             gradcheck([](const auto& in) { return sum(in[0] * detach(in[0])); },
                                       {x});
                           }),
      wrong<AutogradError>("anomaly_forward", "log", {"[2]", "-inf", "[1]"}, "called from",
                           [](World&) {
                             const AnomalyMode anomaly;
                             log(tensor({1, 0}).set_requires_grad());
                           }),
  };
}

}  // namespace accrue::test
