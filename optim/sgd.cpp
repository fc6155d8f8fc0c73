#include <accrue/kernels/optim.h>

#include <accrue/optim/sgd.h>

namespace accrue::optim {

void SGDOptions::check(const char* optimizer) const {
  check_not_negative(optimizer, "lr", lr);
  check_not_negative(optimizer, "momentum", momentum);
  check_finite(optimizer, "dampening", dampening);
  check_not_negative(optimizer, "weight_decay", weight_decay);
  accrue::check<ValueError>(!nesterov || (momentum > 0 && dampening == 0), optimizer,
                            ": nesterov with momentum ", momentum, " and dampening ", dampening,
                            "; it needs momentum > 0 and dampening 0");
}

std::vector<HyperParameter> SGDOptions::hyper_parameters() {
  return {{"lr", &lr},
          {"momentum", &momentum},
          {"dampening", &dampening},
          {"weight_decay", &weight_decay},
          {"nesterov", &nesterov},
          {"maximize", &maximize}};
}

SGD::SGD(const Parameters& parameters, const SGDOptions& options)
    : GroupedOptimizer("SGD", {"momentum_buffer"}) {
  add_group(parameters, options);
}

bool SGD::uses(size_t group, size_t) const { return options(group).momentum != 0; }

void SGD::update(size_t group, std::span<const Update> all, double grad_scale) {
  const SGDOptions& o = options(group);
  std::vector<kernels::SgdParameter> parameters;
  for (const auto& [_, slot, grad, first] : all)
    parameters.push_back({.g = grad,
                          .w = into(slot->value),
                          .momentum = o.momentum != 0 ? into(slot->state[0]) : Dest(),
                          .master = slot->master.defined() ? into(slot->master) : Dest(),
                          .first = first});
  kernels::sgd({.lr = o.lr,
                .momentum = o.momentum,
                .dampening = o.dampening,
                .weight_decay = o.weight_decay,
                .grad_scale = o.maximize ? -grad_scale : grad_scale,
                .nesterov = o.nesterov},
               parameters);
}

}  // namespace accrue::optim
