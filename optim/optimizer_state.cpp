// An optimizer's state as tensors by name, and back.
#include <set>

#include <accrue/core/factories.h>
#include <accrue/core/memory.h>
#include <accrue/core/transfer.h>

#include <accrue/kernels/elementwise.h>

#include <accrue/optim/optimizer.h>

namespace accrue::optim {
namespace {

// "step.fc1.weight": what comes before the first dot holds none, so a name may hold any.
std::string key_of(const char* what, const std::string& name) {
  return std::string(what) + "." + name;
}
std::string group_key(size_t group, const std::string& field) {
  return "group." + std::to_string(group) + "." + field;
}

Tensor copy_of(const Tensor& x, DType dtype, Device device) {
  Tensor on_device = to_device(x, device);
  Tensor y = Tensor::empty(x.shape(), dtype, device);
  kernels::copy(on_device, into(y));
  return y;
}

}  // namespace

StateDict Optimizer::state_dict() const {
  StateDict dict;
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const auto& [field, value] : hyper_parameters(g))
      dict[group_key(g, field)] = scalar(value, DType::float64, Device::cpu());
    for (const Slot& slot : groups_[g]) {
      dict[key_of("step", slot.name)] =
          scalar(static_cast<double>(slot.steps), DType::int64, Device::cpu());
      for (size_t i = 0; i < state_names_.size(); ++i)
        if (const Tensor& x = slot.state[i]; x.defined())
          dict[key_of(state_names_[i], slot.name)] = copy_of(x, x.dtype(), x.device());
      if (const Tensor& x = slot.master; x.defined())
        dict[key_of("master", slot.name)] = copy_of(x, x.dtype(), x.device());
    }
  }
  return dict;
}

// Fills `slot`, whose name and value are set, and adds what does not fit to `problems`.
void Optimizer::read_slot(const StateDict& dict, size_t group, Slot& slot,
                          std::string& problems) const {
  const auto read = [&](const char* what, bool required) -> Tensor {
    const std::string key = key_of(what, slot.name);
    const auto found = dict.find(key);
    if (found == dict.end()) {
      if (required) problems += "\n  missing: " + key;
      return {};
    }
    const Tensor& x = found->second;
    if (x.defined() && x.shape() == slot.value.shape() && is_floating(x.dtype())) {
      const DType dtype = is_16bit_float(slot.value.dtype()) ? DType::float32 : slot.value.dtype();
      return copy_of(x, dtype, slot.value.device());
    }
    problems += x.defined() ? detail::concat("\n  wrong shape: ", key, " is ", x.dtype(), " ",
                                             x.shape(), ", the parameter ", slot.value.shape())
                            : "\n  not defined: " + key;
    return {};
  };
  const std::string step_key = key_of("step", slot.name);
  if (const auto found = dict.find(step_key); found == dict.end())
    problems += "\n  missing: " + step_key;
  else if (const Tensor& t = found->second;
           !t.defined() || t.numel() != 1 || t.dtype() != DType::int64 || t.item() < 0)
    problems += "\n  not a count of steps: " + step_key;
  else
    slot.steps = static_cast<int64_t>(t.item());
  const bool stepped = slot.steps > 0;
  for (size_t i = 0; i < state_names_.size(); ++i)
    slot.state[i] = read(state_names_[i], stepped && uses(group, i));
  if (is_16bit_float(slot.value.dtype())) slot.master = read("master", false);
}

void Optimizer::load_state_dict(const StateDict& dict) {
  const MemoryKindGuard kind(MemoryKind::optimizer);
  std::string problems;
  std::set<std::string> known;
  std::vector<std::map<std::string, double>> before;
  auto after = before;
  for (size_t g = 0; g < groups_.size(); ++g) {
    before.push_back(hyper_parameters(g));
    after.push_back(before.back());
    for (auto& [field, value] : after.back()) {
      const std::string key = group_key(g, field);
      known.insert(key);
      const auto found = dict.find(key);
      if (found == dict.end())
        problems += "\n  missing: " + key;
      else if (!found->second.defined() || found->second.numel() != 1)
        problems += "\n  not one number: " + key;
      else
        value = found->second.item();
    }
    for (const Slot& slot : groups_[g]) {
      known.insert(key_of("step", slot.name));
      known.insert(key_of("master", slot.name));
      for (const char* what : state_names_) known.insert(key_of(what, slot.name));
    }
  }
  for (const auto& entry : dict)
    if (!known.contains(entry.first)) problems += "\n  unexpected: " + entry.first;

  size_t changed = 0;  // groups whose hyper-parameters are the new ones
  try {
    if (problems.empty())
      for (; changed < groups_.size(); ++changed) set_hyper_parameters(changed, after[changed]);
    auto fresh = groups_;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (Slot& slot : fresh[g]) {
        slot = {.name = slot.name, .value = slot.value};
        read_slot(dict, g, slot, problems);
      }
    check<ValueError>(problems.empty(), name_,
                      ": the state does not fit; nothing was loaded:", problems);
    groups_ = std::move(fresh);
  } catch (...) {
    while (changed-- > 0) set_hyper_parameters(changed, before[changed]);
    throw;
  }
}

}  // namespace accrue::optim
