#include <cmath>

#include <accrue/core/factories.h>
#include <accrue/core/transfer.h>

#include <accrue/autograd/grad.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/gradcheck.h>

namespace accrue {
namespace {

using Rows = std::vector<std::vector<double>>;

/// d(output element)/d(every element of `wrt`), one row for each output element.
std::vector<Rows> analytic_jacobians(const Tensor& y, const std::vector<Tensor>& wrt) {
  std::vector<Rows> jacobians(wrt.size());
  for (int64_t j = 0; j < y.numel(); ++j) {
    const Tensor host = zeros(y.shape(), y.dtype(), Device::cpu());
    host.data<double>()[j] = 1;
    const Tensor seed = to_device(host, y.device());
    const auto g = grad(y, wrt, {.retain_graph = true, .gradient = seed, .allow_unused = true});
    for (size_t i = 0; i < wrt.size(); ++i)
      jacobians[i].push_back(g[i].defined()
                                 ? g[i].to_vector<double>()
                                 : std::vector<double>(static_cast<size_t>(wrt[i].numel())));
  }
  return jacobians;
}

/// The numbers of a tensor on any device, one by one.
class Elements {
 public:
  explicit Elements(const Tensor& x) : image_(x) {
    layout::for_each_offset(image_.tensor().layout(), [&](int64_t at) {
      places_.push_back(image_.tensor().data<double>() + at);
    });
  }
  size_t size() const { return places_.size(); }
  double get(size_t i) const { return *places_[i]; }
  void set(size_t i, double value) const {
    *places_[i] = value;
    image_.write_back();
  }

 private:
  HostImage image_;
  std::vector<double*> places_;  // in row-major order
};

/// Central differences of all outputs for element i of an input.
std::vector<double> numeric_column(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                   const Elements& input, size_t i, double step) {
  const NoGrad no_grad;
  const double x = input.get(i);
  const double h = step * std::max(1.0, std::abs(x));
  input.set(i, x + h);
  std::vector<double> up = f(inputs).to_vector<double>();
  input.set(i, x - h);
  const std::vector<double> down = f(inputs).to_vector<double>();
  input.set(i, x);
  const double gap = (x + h) - (x - h);
  for (size_t j = 0; j < up.size(); ++j) up[j] = (up[j] - down[j]) / gap;
  return up;
}

}  // namespace

double gradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
                 const GradcheckOptions& options) {
  std::vector<Tensor> wrt;
  for (const Tensor& x : inputs) {
    if (!x.requires_grad()) continue;
    check<DTypeError>(x.dtype() == DType::float64, "gradcheck: an input is ", x.dtype(),
                      "; differences are only meaningful in float64");
    check<ShapeError>(!layout::has_overlap(x.layout()),
                      "gradcheck: several elements of an input, shape ", x.shape(),
                      ", share memory; clone it first");
    wrt.push_back(x);
  }
  check<AutogradError>(!wrt.empty(),
                       "gradcheck: no input requires grad, so there is nothing to check; "
                       "call set_requires_grad() on one");
  const Tensor y = f(inputs);
  check<DTypeError>(y.dtype() == DType::float64, "gradcheck: the output is ", y.dtype(),
                    "; it must be float64");
  const auto analytic = analytic_jacobians(y, wrt);
  double worst = 0;
  for (size_t i = 0; i < wrt.size(); ++i) {
    const Elements elements(wrt[i]);
    for (size_t e = 0; e < elements.size(); ++e) {
      const auto numeric = numeric_column(f, inputs, elements, e, options.step);
      for (size_t j = 0; j < numeric.size(); ++j) {
        const double difference = std::abs(analytic[i][j][e] - numeric[j]);
        check<AutogradError>(difference <= options.atol + options.rtol * std::abs(numeric[j]),
                             "gradcheck: d(output element ", j, ")/d(element ", e, " of input ", i,
                             ", shape ", wrt[i].shape(), ") is ", analytic[i][j][e],
                             " by backward and ", numeric[j], " by differences");
        worst = std::max(worst, difference);
      }
    }
  }
  return worst;
}

}  // namespace accrue
