// Optimizer: parameters in groups, their state by name, and step().
//
//   optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-3});
//   for (...) { loss.backward(); optimizer.step(); optimizer.zero_grad(); }
//
// A parameter whose gradient is absent is skipped wholly: no decay, no momentum, no step counted,
// no state made. A gradient of zeros is a gradient. Now read: sgd.h, adam.h, clip.h.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <accrue/optim/hyper_parameter.h>
#include <accrue/optim/parameters.h>

namespace accrue::optim {

struct StepOptions {
  /// Every gradient is multiplied by this inside the update: 1 / items turns sums that backward()
  /// has collected into their mean, at no cost. `.grad` itself stays as it is.
  double grad_scale = 1;
};

class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient, in one pass over its memory, and changes its
  /// version. Neighbours of a group that are on one device are one kernel. Throws, having
  /// changed nothing, ValueError for a scale that is not positive, DTypeError or DeviceError if a
  /// parameter is not what its state was made for, OutOfMemory.
  void step(const StepOptions& options = {});
  /// Forgets all gradients; launches nothing.
  void zero_grad();

  size_t groups() const { return groups_.size(); }
  double lr(size_t group = 0) const { return rate(group); }
  /// Of every group, or of one. Throw ValueError.
  void set_lr(double lr);
  void set_lr(size_t group, double lr);
  /// How often a parameter was updated. Throws ValueError for an unknown name.
  int64_t steps(const std::string& parameter) const;

  /// A copy of everything that step() would need to go on elsewhere, by the parameters' names:
  /// "step.NAME", "exp_avg.NAME", ..., and "group.0.lr", ....
  StateDict state_dict() const;
  /// Takes it back, hyper-parameters included; parameters may stand in another order. Throws
  /// ValueError listing every name that is missing, unexpected or of the wrong shape, and then has
  /// changed nothing.
  void load_state_dict(const StateDict& dict);

 protected:
  static constexpr size_t kMaxState = 4;
  using State = std::array<Tensor, kMaxState>;
  /// One parameter. `state` is in the order of state_names(); what is not used is not defined.
  struct Slot {
    std::string name;
    Tensor value;
    int64_t steps = 0;
    State state;
    Tensor master;  ///< of a 16-bit parameter: see kernels/optim.h
  };

  Optimizer(const char* name, std::vector<const char*> state_names)
      : name_(name), state_names_(std::move(state_names)) {}

  const char* name() const { return name_; }
  /// Throws, having added nothing, ValueError for a name or tensor that is there already, for an
  /// undefined one, or for no parameters at all; DTypeError; AutogradError for a tensor that an
  /// operator made; ShapeError for overlapping elements.
  void add_parameters(const Parameters& parameters);

  /// Whether parameters of this group need state number i.
  virtual bool uses(size_t group, size_t i) const = 0;
  /// A parameter that is to be updated. slot->steps counts the update already.
  struct Update {
    size_t group;
    Slot* slot;
    Tensor grad;
    bool first = false;  ///< no used state holds anything yet
  };
  /// Makes updates of one group on one device, by one kernel.
  virtual void update(size_t group, std::span<const Update> all, double grad_scale) = 0;
  virtual double& rate(size_t group) = 0;
  double rate(size_t group) const { return const_cast<Optimizer*>(this)->rate(group); }
  virtual std::map<std::string, double> hyper_parameters(size_t group) const = 0;
  /// Throws ValueError, having changed nothing.
  virtual void set_hyper_parameters(size_t group, const std::map<std::string, double>& values) = 0;
  void check_group(size_t group) const;

 private:
  struct Pending;
  std::vector<Pending> prepare();
  void check_parameter(const NamedTensor& p) const;
  void check_state(const Slot& slot, const Tensor& state, DType working) const;
  void read_slot(const StateDict& dict, size_t group, Slot& slot, std::string& problems) const;

  const char* name_;
  std::vector<const char*> state_names_;
  std::vector<std::vector<Slot>> groups_;
};

/// An optimizer whose groups each have Options: a struct with `double lr`, `check(name)` and
/// `hyper_parameters()`.
template <class Options>
class GroupedOptimizer : public Optimizer {
 public:
  const Options& options(size_t group = 0) const {
    check_group(group);
    return options_[group];
  }
  /// Throws ValueError, having changed nothing.
  void set_options(size_t group, const Options& options) {
    check_group(group);
    options.check(name());
    options_[group] = options;
  }
  /// More parameters, with options of their own.
  void add_group(const Parameters& parameters, const Options& options) {
    options.check(name());
    options_.reserve(options_.size() + 1);
    add_parameters(parameters);
    options_.push_back(options);
  }

 protected:
  using Optimizer::Optimizer;
  double& rate(size_t group) override {
    check_group(group);
    return options_[group].lr;
  }
  std::map<std::string, double> hyper_parameters(size_t group) const override {
    Options copy = options_[group];
    std::map<std::string, double> values;
    for (const HyperParameter& h : copy.hyper_parameters()) values[h.name] = h.get();
    return values;
  }
  void set_hyper_parameters(size_t group, const std::map<std::string, double>& values) override {
    Options copy = options_[group];
    for (const HyperParameter& h : copy.hyper_parameters()) h.set(values.at(h.name));
    set_options(group, copy);
  }

 private:
  std::vector<Options> options_;
};

}  // namespace accrue::optim
