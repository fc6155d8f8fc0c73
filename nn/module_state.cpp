// A module's tensors in and out: state dictionaries, and moves to another device or dtype.
#include <accrue/core/factories.h>
#include <accrue/core/memory.h>
#include <accrue/core/transfer.h>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/grad.h>

#include <accrue/nn/module.h>

namespace accrue::nn {
namespace {

Tensor copy_as(const Tensor& x, DType dtype, Device device) {
  const Tensor there = to_device(x, device);
  Tensor y = Tensor::empty(x.shape(), dtype, device);
  kernels::copy(there, into(y));
  return y;
}

// Gives x new memory. Every handle of x sees it.
void rebind(Tensor& x, const Tensor& value, const Tensor& grad_buffer) {
  const bool requires_grad = x.requires_grad();
  const Tensor grad = x.grad();
  TensorImpl& impl = x.impl();
  impl.storage = value.impl().storage;
  impl.layout = value.layout();
  impl.dtype = value.dtype();
  impl.autograd = nullptr;
  if (!requires_grad) return;
  x.set_requires_grad();
  if (!grad.defined()) return;
  bind_grad(x, grad_buffer);
  set_grad(x, to_device(grad, x.device()));
}

}  // namespace

void Module::convert(std::optional<DType> dtype, std::optional<Device> device) {
  struct Change {
    Tensor x, value, grad_buffer;
  };
  std::vector<Change> changes;  // all made before the first is applied
  for (auto entries : {&Module::parameters_, &Module::buffers_})
    for (const NamedTensor& entry : collect(entries, true)) {
      const Tensor& x = entry.value;
      const DType new_dtype = is_floating(x.dtype()) ? dtype.value_or(x.dtype()) : x.dtype();
      const Device new_device = device.value_or(x.device());
      if (new_dtype == x.dtype() && new_device == x.device()) continue;
      Change change{.x = x};
      {
        const MemoryKindGuard kind(MemoryKind::parameter);
        change.value = copy_as(x, new_dtype, new_device);
      }
      if (x.grad().defined()) {
        const MemoryKindGuard kind(MemoryKind::gradient);
        change.grad_buffer = Tensor::empty(
            x.shape(), is_16bit_float(new_dtype) ? DType::float32 : new_dtype, new_device);
      }
      changes.push_back(std::move(change));
    }
  for (Change& change : changes) rebind(change.x, change.value, change.grad_buffer);
}

Module& Module::to(Device device) {
  convert({}, device);
  return *this;
}

Module& Module::to(DType dtype) {
  check<DTypeError>(is_floating(dtype), "to: a module cannot be converted to ", dtype,
                    "; it must be floating point");
  convert(dtype, {});
  return *this;
}

StateDict Module::state_dict() const {
  StateDict dict;
  for (auto& [name, x] : members()) dict.emplace(name, copy_as(x, x.dtype(), x.device()));
  return dict;
}

LoadReport Module::load_state_dict(const StateDict& dict, const LoadOptions& options) {
  LoadReport report;
  std::string problems;
  const StateDict own = members();
  const auto is_own = [&](const Tensor& value) {
    return std::any_of(own.begin(), own.end(),
                       [&](const auto& entry) { return entry.second.same_storage(value); });
  };
  std::vector<std::pair<Tensor, Tensor>> copies;  // to, from
  for (const auto& [name, x] : own) {
    const auto found = dict.find(name);
    if (found == dict.end()) {
      report.missing.push_back(name);
      continue;
    }
    const Tensor& value = found->second;
    if (!value.defined())
      problems += "\n  not defined: " + name;
    else if (value.shape() != x.shape())
      problems += detail::concat("\n  wrong shape: ", name, " is ", value.shape(),
                                 ", the module's ", x.shape());
    else  // a value that lives in this module must not change before it is read
      copies.emplace_back(x, is_own(value) ? copy_as(value, value.dtype(), x.device())
                                           : to_device(value, x.device()));
  }
  for (const auto& entry : dict)
    if (!own.contains(entry.first)) report.unexpected.push_back(entry.first);
  if (options.strict) {
    for (const std::string& name : report.missing) problems += "\n  missing: " + name;
    for (const std::string& name : report.unexpected) problems += "\n  unexpected: " + name;
  }
  check<ValueError>(problems.empty(),
                    "load_state_dict: the state does not fit; nothing was loaded:", problems);
  for (auto& [to, from] : copies) {
    kernels::copy(from, into(to));
    to.storage().bump_version();
  }
  return report;
}

}  // namespace accrue::nn
