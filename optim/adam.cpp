#include <accrue/kernels/optim.h>

#include <accrue/optim/adam.h>

namespace accrue::optim {
namespace {

enum StateIndex : size_t { exp_avg, exp_avg_sq, max_exp_avg_sq };
const std::vector<const char*> kStateNames = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

template <class Options>
void check_options(const char* optimizer, const Options& o) {
  check_not_negative(optimizer, "lr", o.lr);
  check_below_one(optimizer, "betas[0]", o.betas[0]);
  check_below_one(optimizer, "betas[1]", o.betas[1]);
  check_not_negative(optimizer, "eps", o.eps);
  check_not_negative(optimizer, "weight_decay", o.weight_decay);
}

template <class Options>
std::vector<HyperParameter> list(Options& o) {
  return {{"lr", &o.lr},
          {"beta1", &o.betas[0]},
          {"beta2", &o.betas[1]},
          {"eps", &o.eps},
          {"amsgrad", &o.amsgrad},
          {"weight_decay", &o.weight_decay},
          {"maximize", &o.maximize}};
}

template <class Options>
constexpr bool kDecoupled = std::is_same_v<Options, AdamWOptions>;

}  // namespace

void AdamOptions::check(const char* optimizer) const { check_options(optimizer, *this); }
void AdamWOptions::check(const char* optimizer) const { check_options(optimizer, *this); }
std::vector<HyperParameter> AdamOptions::hyper_parameters() { return list(*this); }
std::vector<HyperParameter> AdamWOptions::hyper_parameters() { return list(*this); }

template <class Options>
BasicAdam<Options>::BasicAdam(const Parameters& parameters, const Options& options)
    : GroupedOptimizer<Options>(kDecoupled<Options> ? "AdamW" : "Adam", kStateNames) {
  this->add_group(parameters, options);
}

template <class Options>
bool BasicAdam<Options>::uses(size_t group, size_t i) const {
  return i != max_exp_avg_sq || this->options(group).amsgrad;
}

template <class Options>
void BasicAdam<Options>::update(size_t group, std::span<const Update> all, double grad_scale) {
  const Options& o = this->options(group);
  std::vector<kernels::AdamParameter> parameters;
  for (const auto& [_, slot, grad, first] : all)
    parameters.push_back({.g = grad,
                          .w = into(slot->value),
                          .m = into(slot->state[exp_avg]),
                          .v = into(slot->state[exp_avg_sq]),
                          .v_max = o.amsgrad ? into(slot->state[max_exp_avg_sq]) : Dest(),
                          .master = slot->master.defined() ? into(slot->master) : Dest(),
                          .t = slot->steps,
                          .first = first});
  kernels::adam({.lr = o.lr,
                 .beta1 = o.betas[0],
                 .beta2 = o.betas[1],
                 .eps = o.eps,
                 .weight_decay = o.weight_decay,
                 .grad_scale = o.maximize ? -grad_scale : grad_scale,
                 .decoupled = kDecoupled<Options>},
                parameters);
}

template class BasicAdam<AdamOptions>;
template class BasicAdam<AdamWOptions>;

}  // namespace accrue::optim
