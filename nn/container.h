// Modules in a row: Sequential runs them one after another, ModuleList only holds them.
//
//   nn::Sequential net;
//   net.add<nn::Flatten>();
//   net.add<nn::Linear>(784, 10);
#pragma once
#include <accrue/nn/module.h>

namespace accrue::nn {

/// Calls its modules, which are named by their numbers, one after another; empty, it returns x.
class Sequential : public Module {
 public:
  Sequential() = default;
  /// Modules that exist already, in order.
  template <class... M>
  explicit Sequential(const std::shared_ptr<M>&... modules) {
    (push(modules), ...);
  }
  /// Makes a module and puts it at the end.
  template <class M, class... Args>
  std::shared_ptr<M> add(Args&&... args) {
    return Module::add<M>(std::to_string(size()), std::forward<Args>(args)...);
  }
  void push(std::shared_ptr<Module> module) {
    register_module(std::to_string(size()), std::move(module));
  }
  size_t size() const { return children().size(); }
  /// Throws IndexError.
  Module& operator[](size_t i) const;
  Tensor forward(const Tensor& x) override;
};

/// A list of modules of one type, for a forward() that goes through them itself.
template <class M = Module>
class ModuleList : public Module {
 public:
  template <class Made = M, class... Args>
  std::shared_ptr<Made> add(Args&&... args) {
    auto module = std::make_shared<Made>(std::forward<Args>(args)...);
    push(module);
    return module;
  }
  void push(std::shared_ptr<M> module) {
    register_module(std::to_string(list_.size()), module);
    list_.push_back(std::move(module));
  }
  size_t size() const { return list_.size(); }
  /// Throws IndexError.
  M& operator[](size_t i) const {
    check<IndexError>(i < list_.size(), "ModuleList: there is no module ", i, "; it has ",
                      list_.size(), ", and the number must be below that");
    return *list_[i];
  }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  std::vector<std::shared_ptr<M>> list_;
};

/// The dimensions from `start` to `end`, both included, as one.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t start = 1, int64_t end = -1) : start_(start), end_(end) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  int64_t start_, end_;
};

}  // namespace accrue::nn
