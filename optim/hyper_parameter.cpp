#include <cmath>

#include <accrue/core/error.h>

#include <accrue/optim/hyper_parameter.h>

namespace accrue::optim {

double HyperParameter::get() const {
  return std::visit([](const auto* where) { return static_cast<double>(*where); }, value);
}

void HyperParameter::set(double number) const {
  if (bool* const* flag = std::get_if<bool*>(&value))
    **flag = number != 0;
  else
    *std::get<double*>(value) = number;
}

void check_finite(const char* optimizer, const char* field, double value) {
  check<ValueError>(std::isfinite(value), optimizer, ": ", field, " is ", value,
                    "; it must be a finite number");
}

void check_not_negative(const char* optimizer, const char* field, double value) {
  check<ValueError>(std::isfinite(value) && value >= 0, optimizer, ": ", field, " is ", value,
                    "; it must be a finite number, at least 0");
}

void check_below_one(const char* optimizer, const char* field, double value) {
  check<ValueError>(value >= 0 && value < 1, optimizer, ": ", field, " is ", value,
                    "; it must be at least 0 and less than 1");
}

}  // namespace accrue::optim
