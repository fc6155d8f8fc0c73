#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_set>

#include <accrue/core/factories.h>
#include <accrue/core/memory.h>

#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/optim.h>

#include <accrue/optim/clip.h>

namespace accrue::optim {
namespace {

struct Grad {
  const std::string& name;
  Tensor value;
};

// A tensor that stands in the list twice counts once.
std::vector<Grad> grads_of(const char* op, const Parameters& parameters) {
  std::vector<Grad> grads;
  std::unordered_set<const TensorImpl*> seen;
  for (const NamedTensor& p : parameters) {
    check<ValueError>(p.value.defined(), op, ": parameter ", p.name,
                      " is not defined; it must be a tensor");
    if (!seen.insert(&p.value.impl()).second) continue;
    if (Tensor g = p.value.grad(); g.defined()) grads.push_back({p.name, std::move(g)});
  }
  return grads;
}

// One number for each run of gradients on one device, by kernel(gradients, where to).
template <class Kernel>
std::vector<double> measure(std::span<const Grad> grads, const Kernel& kernel) {
  const MemoryKindGuard kind(MemoryKind::workspace);
  std::vector<double> numbers;
  for (auto next = grads.begin(); next != grads.end();) {
    const Device device = next->value.device();
    std::vector<ConstView> views;
    for (; next != grads.end() && next->value.device() == device; ++next)
      views.emplace_back(next->value);
    const Tensor measured = Tensor::empty({}, DType::float64, device);
    kernel(views, into(measured));
    numbers.push_back(measured.item());
  }
  return numbers;
}

double max_abs(std::span<const Grad> grads) {
  double most = 0;
  for (const double x : measure(grads, kernels::max_abs))
    if (x > most || std::isnan(x)) most = x;
  return most;
}
double power_sum(std::span<const Grad> grads, double p, double scale) {
  const auto kernel = [=](const kernels::ConstViews& x, const Dest& y) {
    kernels::power_sum(p, scale, x, y);
  };
  double total = 0;
  for (const double x : measure(grads, kernel)) total += x;
  return total;
}

// The norm of the gradients as they are.
double raw_norm(const std::vector<Grad>& grads, double p) {
  if (p == 2) {
    const double squares = power_sum(grads, 2, 1);
    // Within these nothing has over- or underflowed that matters.
    if (squares > 1e-200 && squares < 1e300) return std::sqrt(squares);
  }
  const double most = max_abs(grads);
  if (std::isinf(p) || most == 0 || !std::isfinite(most)) return most;
  const double unit = std::max(most, 0x1p-1000);  // whose inverse is finite
  return unit * std::pow(power_sum(grads, p, 1 / unit), 1 / p);
}

void check_scale(const char* op, double grad_scale) {
  check<ValueError>(std::isfinite(grad_scale) && grad_scale > 0, op, ": grad_scale is ", grad_scale,
                    "; it must be a finite number > 0");
}

double norm_of(const char* op, const std::vector<Grad>& grads, const ClipOptions& options) {
  check<ValueError>(options.norm_type > 0, op, ": norm_type is ", options.norm_type,
                    "; it must be > 0, or infinity");
  check_scale(op, options.grad_scale);
  const double norm = raw_norm(grads, options.norm_type) * options.grad_scale;
  if (std::isfinite(norm) || !options.error_if_nonfinite) return norm;
  for (const Grad& g : grads)
    check<ValueError>(std::isfinite(max_abs({&g, 1})), op, ": the gradient of ", g.name,
                      " is not finite; nothing was clipped. Skip this step, or set "
                      "error_if_nonfinite to false and look at the norm");
  detail::fail<ValueError>(op, ": the norm times grad_scale is ", norm, "; nothing was clipped");
}

}  // namespace

double grad_norm(const Parameters& parameters, const ClipOptions& options) {
  return norm_of("grad_norm", grads_of("grad_norm", parameters), options);
}

double clip_grad_norm(const Parameters& parameters, double max_norm, const ClipOptions& options) {
  check<ValueError>(max_norm >= 0, "clip_grad_norm: max_norm is ", max_norm,
                    "; it must be at least 0");
  const std::vector<Grad> grads = grads_of("clip_grad_norm", parameters);
  const double norm = norm_of("clip_grad_norm", grads, options);
  if (!std::isfinite(norm) || norm <= max_norm) return norm;
  for (const Grad& g : grads) {
    kernels::unary(Unary::mul_scalar, g.value, into(g.value), {max_norm / norm});
    g.value.storage().bump_version();
  }
  return norm;
}

void clip_grad_value(const Parameters& parameters, double max_value, double grad_scale) {
  check<ValueError>(max_value >= 0, "clip_grad_value: max_value is ", max_value,
                    "; it must be at least 0");
  check_scale("clip_grad_value", grad_scale);
  const double bound = max_value / grad_scale;
  for (const Grad& g : grads_of("clip_grad_value", parameters)) {
    kernels::unary(Unary::clamp, g.value, into(g.value), {-bound, bound});
    g.value.storage().bump_version();
  }
}

}  // namespace accrue::optim
