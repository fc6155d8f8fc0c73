#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <accrue/core/factories.h>
#include <accrue/core/memory.h>

#include <accrue/kernels/elementwise.h>

#include <accrue/optim/optimizer.h>

namespace accrue::optim {
namespace {

// What state and gradients of a parameter are in.
DType working_dtype(DType t) { return is_16bit_float(t) ? DType::float32 : t; }

}  // namespace

Optimizer::~Optimizer() = default;

void Optimizer::check_group(size_t group) const {
  check<ValueError>(group < groups_.size(), name_, ": there is no group ", group, "; it has ",
                    groups_.size(), ", and the number must be below that");
}

void Optimizer::check_parameter(const NamedTensor& p) const {
  check<ValueError>(p.value.defined(), name_, ": parameter ", p.name,
                    " is not defined; it must be a tensor");
  check<DTypeError>(is_floating(p.value.dtype()), name_, ": parameter ", p.name, " is ",
                    p.value.dtype(), "; it must be floating point");
  check<AutogradError>(p.value.is_leaf(), name_, ": parameter ", p.name,
                       " was computed from something that requires grad, and no .grad collects "
                       "there; give the leaf, or detach() it");
  check<ShapeError>(!layout::has_overlap(p.value.layout()), name_, ": several elements of ",
                    "parameter ", p.name, " share memory; clone it first");
}

void Optimizer::check_state(const Slot& slot, const Tensor& state, DType working) const {
  const Tensor& w = slot.value;
  check<DTypeError>(state.dtype() == working, name_, ": the state of ", slot.name, " is ",
                    state.dtype(), ", the parameter ", w.dtype(),
                    "; make the optimizer after to()");
  check<DeviceError>(state.device() == w.device(), name_, ": the state of ", slot.name, " is on ",
                     state.device(), ", the parameter on ", w.device(),
                     "; make the optimizer after to()");
}

void Optimizer::add_parameters(const Parameters& parameters) {
  check<ValueError>(parameters.size() > 0, name_,
                    ": there are no parameters to optimize; give at least one");
  std::unordered_set<std::string> names;
  std::unordered_set<const TensorImpl*> tensors;
  int64_t count = 0;
  for (const auto& group : groups_)
    for (const Slot& slot : group) {
      names.insert(slot.name);
      tensors.insert(&slot.value.impl());
      ++count;
    }
  std::vector<Slot> slots;
  for (const NamedTensor& p : parameters) {
    // A list of unnamed tensors numbers itself from 0; a later one goes on where the last ended.
    const std::string name =
        parameters.numbered_ ? std::to_string(count + static_cast<int64_t>(slots.size())) : p.name;
    check_parameter({name, p.value});
    check<ValueError>(tensors.insert(&p.value.impl()).second, name_, ": parameter ", name,
                      " is a tensor that is there already; it would be stepped twice");
    check<ValueError>(names.insert(name).second, name_, ": two parameters are called ", name,
                      "; their state is kept by name");
    slots.push_back({.name = name, .value = p.value});
  }
  groups_.push_back(std::move(slots));
}

struct Optimizer::Pending {
  Update update;
  State fresh;  // state that this step makes
  Tensor master;
};

// Everything that can fail: afterwards the updates cannot.
std::vector<Optimizer::Pending> Optimizer::prepare() {
  const MemoryKindGuard kind(MemoryKind::optimizer);
  std::vector<Pending> all;
  for (size_t g = 0; g < groups_.size(); ++g)
    for (Slot& slot : groups_[g]) {
      Tensor grad = slot.value.grad();
      if (!grad.defined()) continue;
      const Tensor& w = slot.value;
      const DType dtype = working_dtype(w.dtype());
      check<DTypeError>(grad.dtype() == dtype, name_, ": the gradient of ", slot.name, " is ",
                        grad.dtype(), ", the parameter ", w.dtype(), "; a gradient must be ",
                        dtype);
      Pending p{.update = {.group = g, .slot = &slot, .grad = std::move(grad)}};
      bool any_old = false;
      for (size_t i = 0; i < state_names_.size(); ++i) {
        const Tensor& old = slot.state[i];
        if (!old.defined()) continue;
        any_old |= uses(g, i);
        check_state(slot, old, dtype);
      }
      if (is_16bit_float(w.dtype()) && slot.master.defined()) check_state(slot, slot.master, dtype);
      p.update.first = !any_old;
      for (size_t i = 0; i < state_names_.size(); ++i)
        if (uses(g, i) && !slot.state[i].defined())
          p.fresh[i] = any_old ? zeros(w.shape(), dtype, w.device())
                               : Tensor::empty(w.shape(), dtype, w.device());
      if (is_16bit_float(w.dtype()) && !slot.master.defined()) {
        p.master = Tensor::empty(w.shape(), dtype, w.device());
        kernels::copy(w, into(p.master));
      }
      all.push_back(std::move(p));
    }
  return all;
}

void Optimizer::step(const StepOptions& options) {
  check<ValueError>(std::isfinite(options.grad_scale) && options.grad_scale > 0, name_,
                    ": grad_scale is ", options.grad_scale, "; it must be a finite number > 0");
  std::vector<Pending> pending = prepare();
  std::vector<Update> updates;
  updates.reserve(pending.size());
  for (Pending& p : pending) {
    Slot& slot = *p.update.slot;
    for (size_t i = 0; i < kMaxState; ++i)
      if (p.fresh[i].defined()) slot.state[i] = std::move(p.fresh[i]);
    if (p.master.defined()) slot.master = std::move(p.master);
    if (!is_16bit_float(slot.value.dtype())) slot.master = Tensor();  // from before to()
    ++slot.steps;
    updates.push_back(std::move(p.update));
  }
  for (auto next = updates.begin(); next != updates.end();) {
    const auto first = next;
    next = std::find_if(first, updates.end(), [&](const Update& u) {
      return u.group != first->group || u.slot->value.device() != first->slot->value.device();
    });
    update(first->group, {first, next}, options.grad_scale);
  }
  for (const Update& u : updates) u.slot->value.storage().bump_version();
}

void Optimizer::zero_grad() {
  for (auto& group : groups_)
    for (Slot& slot : group) slot.value.zero_grad();
}

void Optimizer::set_lr(double lr) {
  check_not_negative(name_, "lr", lr);
  for (size_t g = 0; g < groups_.size(); ++g) rate(g) = lr;
}

void Optimizer::set_lr(size_t group, double lr) {
  check_not_negative(name_, "lr", lr);
  rate(group) = lr;
}

int64_t Optimizer::steps(const std::string& parameter) const {
  for (const auto& group : groups_)
    for (const Slot& slot : group)
      if (slot.name == parameter) return slot.steps;
  detail::fail<ValueError>(name_, ": there is no parameter called ", parameter,
                           "; it must be a name that the optimizer was given");
}

}  // namespace accrue::optim
