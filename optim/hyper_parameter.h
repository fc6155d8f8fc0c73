// A hyper-parameter by its name, so that an optimizer's state can hold it, and the checks that keep
// nonsense out. Each optimizer's options list theirs once: hyper_parameters() in sgd.h, adam.h.
#pragma once
#include <variant>
#include <vector>

namespace accrue::optim {

struct HyperParameter {
  const char* name;
  std::variant<double*, bool*> value;

  double get() const;
  void set(double number) const;
};

/// Throw ValueError naming the optimizer, the field and the value, unless it is finite and ...
void check_finite(const char* optimizer, const char* field, double value);
/// ... at least 0.
void check_not_negative(const char* optimizer, const char* field, double value);
/// ... in [0, 1).
void check_below_one(const char* optimizer, const char* field, double value);

}  // namespace accrue::optim
