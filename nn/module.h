// Module: a part of a network. It has parameters, buffers and other modules, each by name, and a
// forward().
//
//   struct Mlp : nn::Module {
//     std::shared_ptr<nn::Linear> fc1 = add<nn::Linear>("fc1", 784, 256);
//     std::shared_ptr<nn::Linear> fc2 = add<nn::Linear>("fc2", 256, 10);
//     Tensor forward(const Tensor& x) override { return (*fc2)(relu((*fc1)(x))); }
//   };
//
// A module is not copied or moved: it is known by where it is, and so are its tensors, which may be
// assigned to: `head->weight = embedding->weight` ties the two. Now read: linear.h, container.h.
#pragma once
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <accrue/core/named_tensor.h>

namespace accrue::nn {

struct LoadOptions {
  /// Every name must be there, and no other.
  bool strict = true;
};
/// What load_state_dict() left alone.
struct LoadReport {
  std::vector<std::string> missing;     ///< in the module, not in the dictionary
  std::vector<std::string> unexpected;  ///< in the dictionary, not in the module
};

class Module {
 public:
  Module() = default;
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Throws Error unless a subclass defines it; one of several inputs defines its own.
  virtual Tensor forward(const Tensor& x);
  Tensor operator()(const Tensor& x) { return forward(x); }

  /// All below this module, in the order in which they were registered, its own first. A tensor or
  /// module that is there several times is listed once, by its first name, "layers.0.weight".
  std::vector<NamedTensor> named_parameters() const;
  std::vector<Tensor> parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  /// This module, called "", and all below.
  std::vector<std::pair<std::string, Module*>> named_modules();
  /// The modules directly in this one.
  const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& children() const {
    return children_;
  }
  int64_t num_parameters() const;

  /// Tells this module and all below whether they train: dropout acts then.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool training() const { return training_; }
  /// Calls f with every module below and then with this one.
  Module& apply(const std::function<void(Module&)>& f);
  void zero_grad();

  /// Moves parameters, buffers and gradients, or converts those that are floating point. The Tensor
  /// objects stay, so every copy of a handle sees it: an optimizer made before works on if it has
  /// no state yet, and else refuses its next step. Graphs built before and hooks registered before
  /// do not reach the new memory. Throws DeviceError, OutOfMemory, and DTypeError for a dtype that
  /// is not floating point; nothing has changed then.
  Module& to(Device device);
  Module& to(DType dtype);

  /// A copy of all parameters and buffers, tied ones under each of their names.
  StateDict state_dict() const;
  /// Copies values in, converted to the parameters' dtypes. Throws ValueError listing every name
  /// that is missing, unexpected or of the wrong shape, and then has changed nothing. Shapes must
  /// be right also without `strict`.
  LoadReport load_state_dict(const StateDict& dict, const LoadOptions& options = {});

  /// What stands in brackets when this module is printed.
  virtual std::string extra_repr() const { return ""; }

 protected:
  /// Makes `member = value` a parameter, which requires grad, from now on. The member belongs to
  /// this module and stays where it is. A value that is not defined is a parameter that is absent.
  /// Throws ValueError for a name that is taken, empty, or has a dot, AutogradError for a value
  /// that was computed from one that requires grad, DTypeError unless it is floating point.
  void register_parameter(const std::string& name, Tensor& member, const Tensor& value);
  /// The same for a tensor that is state, but not learned.
  void register_buffer(const std::string& name, Tensor& member, const Tensor& value);
  void register_module(const std::string& name, std::shared_ptr<Module> module);
  /// Makes and registers a module.
  template <class M, class... Args>
  std::shared_ptr<M> add(const std::string& name, Args&&... args) {
    auto module = std::make_shared<M>(std::forward<Args>(args)...);
    register_module(name, module);
    return module;
  }

 private:
  using Entries = std::vector<std::pair<std::string, Tensor*>>;
  void check_name(const std::string& name) const;
  /// Calls f(name, module) for this module and all below, some perhaps several times.
  template <class F>
  void walk(const std::string& prefix, const F& f) const;
  std::vector<NamedTensor> collect(Entries Module::*entries, bool once) const;
  /// Parameters and buffers themselves, tied ones under each of their names.
  StateDict members() const;
  void convert(std::optional<DType> dtype, std::optional<Device> device);

  Entries parameters_, buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  bool training_ = true;
};

/// Prints the tree: `Sequential(\n  (0): Linear(in_features=784, ...)\n)`.
std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace accrue::nn
