#include <limits>

#include "tests/errors/catalogue.h"

namespace accrue::test {
namespace {

using optim::Adam;
using optim::AdamW;
using optim::SGD;
using Named = std::vector<NamedTensor>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A leaf with that gradient.
Tensor with_grad(double value) {
  Tensor x = ones({2}).set_requires_grad();
  set_grad(x, full({2}, value));
  return x;
}

}  // namespace

std::vector<WrongCall> optim_errors() {
  return {
      wrong<ValueError>("sgd_lr", "SGD", {"lr is -0.1"}, "at least 0",
                        [](World& w) { SGD({w.a}, {.lr = -0.1}); }),
      wrong<ValueError>("sgd_lr_nan", "SGD", {"lr is nan"}, "finite",
                        [](World& w) { SGD({w.a}, {.lr = kNan}); }),
      wrong<ValueError>("sgd_momentum", "SGD", {"momentum is -1"}, "at least 0",
                        [](World& w) { SGD({w.a}, {.momentum = -1}); }),
      wrong<ValueError>("sgd_nesterov", "SGD", {"momentum 0"}, "needs momentum > 0",
                        [](World& w) { SGD({w.a}, {.nesterov = true}); }),
      wrong<ValueError>("sgd_decay", "SGD", {"weight_decay is -1"}, "at least 0",
                        [](World& w) { SGD({w.a}, {.weight_decay = -1}); }),
      wrong<ValueError>("adam_beta", "Adam", {"is 1"}, "less than 1",
                        [](World& w) {
                          Adam({w.a}, {.betas = {0.9, 1}});
                        }),
      wrong<ValueError>("adam_eps", "Adam", {"eps is -1"}, "at least 0",
                        [](World& w) { Adam({w.a}, {.eps = -1}); }),
      wrong<ValueError>("adamw_decay", "AdamW", {"weight_decay is inf"}, "finite",
                        [](World& w) { AdamW({w.a}, {.weight_decay = optim::kInfinity}); }),
      wrong<ValueError>("no_parameters", "SGD", {"no parameters"}, "give at least one",
                        [](World&) { SGD(Named{}); }),
      wrong<ValueError>("parameter_undefined", "Adam", {"parameter 1"}, "must be a tensor",
                        [](World& w) {
                          Adam({w.a, Tensor()});
                        }),
      wrong<DTypeError>("parameter_integer", "Adam", {"parameter 0", "int64"},
                        "must be floating point", [](World& w) { Adam({w.whole}); }),
      wrong<AutogradError>("parameter_computed", "Adam", {"parameter 0", "computed"},
                           "give the leaf", [](World& w) { Adam({w.computed}); }),
      wrong<ShapeError>("parameter_overlap", "Adam", {"parameter 0", "share memory"},
                        "clone it first", [](World& w) { Adam({w.wide}); }),
      wrong<ValueError>("parameter_twice", "Adam", {"parameter 1"}, "stepped twice",
                        [](World& w) {
                          Adam({w.a, w.a});
                        }),
      wrong<ValueError>("parameter_name_twice", "Adam", {"two parameters are called w"},
                        "kept by name",
                        [](World& w) {
                          Adam(Named{{"w", w.a}, {"w", w.b}});
                        }),
      wrong<ValueError>("step_scale", "SGD", {"grad_scale is 0"}, "finite number > 0",
                        [](World& w) { w.sgd->step({.grad_scale = 0}); }),
      wrong<ValueError>("set_lr", "SGD", {"lr is -1"}, "at least 0",
                        [](World& w) { w.sgd->set_lr(-1); }),
      wrong<ValueError>("set_lr_group", "SGD", {"no group 3", "it has 1"}, "must be below",
                        [](World& w) { w.sgd->set_lr(3, 0.1); }),
      wrong<ValueError>("steps_of_unknown", "SGD", {"called zz"}, "was given",
                        [](World& w) { w.sgd->steps("zz"); }),
      wrong<ValueError>("add_group_again", "SGD", {"weight"}, "stepped twice",
                        [](World& w) { w.sgd->add_group(w.layer->named_parameters(), {}); }),
      wrong<ValueError>("set_options", "SGD", {"momentum is -2"}, "at least 0",
                        [](World& w) { w.sgd->set_options(0, {.momentum = -2}); }),
      wrong<ValueError>("optimizer_state", "SGD", {"extra"}, "nothing was loaded",
                        [](World& w) {
                          w.sgd->load_state_dict({{"extra", w.plain}});
                        }),
      wrong<ValueError>("clip_norm_negative", "clip_grad_norm", {"max_norm is -1"}, "at least 0",
                        [](World& w) { optim::clip_grad_norm({w.a}, -1); }),
      wrong<ValueError>("clip_norm_type", "clip_grad_norm", {"norm_type is 0"}, "must be > 0",
                        [](World& w) { optim::clip_grad_norm({w.a}, 1, {.norm_type = 0}); }),
      wrong<ValueError>("clip_norm_scale", "clip_grad_norm", {"grad_scale is -1"}, "> 0",
                        [](World& w) { optim::clip_grad_norm({w.a}, 1, {.grad_scale = -1}); }),
      wrong<ValueError>("clip_norm_nan", "clip_grad_norm", {"gradient of 1"}, "Skip this step",
                        [](World& w) {
                          optim::clip_grad_norm({w.a, with_grad(kNan)}, 1);
                        }),
      wrong<ValueError>("grad_norm_undefined", "grad_norm", {"parameter 0"}, "must be a tensor",
                        [](World&) { optim::grad_norm({Tensor()}); }),
      wrong<ValueError>("clip_value_negative", "clip_grad_value", {"max_value is -2"}, "at least 0",
                        [](World& w) { optim::clip_grad_value({w.a}, -2); }),
  };
}

}  // namespace accrue::test
