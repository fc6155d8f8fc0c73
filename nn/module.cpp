#include <unordered_set>

#include <accrue/autograd/grad.h>

#include <accrue/nn/module.h>

namespace accrue::nn {
namespace {

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace

Module::~Module() = default;

Tensor Module::forward(const Tensor&) {
  throw Error(
      "forward: this module has no forward() of one tensor; define it, or call the one that it "
      "has:\n" +
      detail::concat(*this));
}

void Module::check_name(const std::string& name) const {
  check<ValueError>(!name.empty() && name.find('.') == std::string::npos, "module: \"", name,
                    "\" cannot be a name; it must not be empty or have a dot");
  const auto taken = [&](const auto& list) {
    for (const auto& entry : list)
      if (entry.first == name) return true;
    return false;
  };
  check<ValueError>(!taken(parameters_) && !taken(buffers_) && !taken(children_),
                    "module: there is something called ", name,
                    " already; give each part a name of its own");
}

void Module::register_parameter(const std::string& name, Tensor& member, const Tensor& value) {
  check_name(name);
  check<AutogradError>(!value.defined() || value.is_leaf(), "module: ", name,
                       " was computed from something that requires grad; a parameter is a leaf: "
                       "compute it within NoGrad, or detach() it");
  if (value.defined()) {
    Tensor(value).set_requires_grad();
    value.storage().set_kind(MemoryKind::parameter);
  }
  member = value;
  parameters_.emplace_back(name, &member);
}

void Module::register_buffer(const std::string& name, Tensor& member, const Tensor& value) {
  check_name(name);
  member = value;
  if (member.defined()) member.storage().set_kind(MemoryKind::parameter);
  buffers_.emplace_back(name, &member);
}

void Module::register_module(const std::string& name, std::shared_ptr<Module> module) {
  check_name(name);
  check<ValueError>(module != nullptr, "module: ", name, " is null; it must be a module");
  children_.emplace_back(name, std::move(module));
}

template <class F>
void Module::walk(const std::string& prefix, const F& f) const {
  f(prefix, *this);
  for (const auto& [name, child] : children_) child->walk(joined(prefix, name), f);
}

std::vector<NamedTensor> Module::collect(Entries Module::*entries, bool once) const {
  std::vector<NamedTensor> all;
  std::unordered_set<const TensorImpl*> seen;
  walk("", [&](const std::string& prefix, const Module& module) {
    for (const auto& [name, member] : module.*entries)
      if (member->defined() && (seen.insert(&member->impl()).second || !once))
        all.push_back({joined(prefix, name), *member});
  });
  return all;
}

std::vector<NamedTensor> Module::named_parameters() const {
  return collect(&Module::parameters_, true);
}

std::vector<NamedTensor> Module::named_buffers() const { return collect(&Module::buffers_, true); }

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  for (NamedTensor& p : named_parameters()) all.push_back(std::move(p.value));
  return all;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> all;
  std::unordered_set<const Module*> seen;
  walk("", [&](const std::string& name, const Module& module) {
    if (seen.insert(&module).second) all.emplace_back(name, const_cast<Module*>(&module));
  });
  return all;
}

int64_t Module::num_parameters() const {
  int64_t n = 0;
  for (const NamedTensor& p : named_parameters()) n += p.value.numel();
  return n;
}

Module& Module::train(bool on) {
  training_ = on;
  for (const auto& child : children_) child.second->train(on);
  return *this;
}

Module& Module::apply(const std::function<void(Module&)>& f) {
  for (const auto& child : children_) child.second->apply(f);
  f(*this);
  return *this;
}

void Module::zero_grad() {
  for (Tensor& p : parameters()) p.zero_grad();
}

StateDict Module::members() const {
  StateDict dict;
  for (auto entries : {&Module::parameters_, &Module::buffers_})
    for (NamedTensor& x : collect(entries, false))
      dict.emplace(std::move(x.name), std::move(x.value));
  return dict;
}

}  // namespace accrue::nn
