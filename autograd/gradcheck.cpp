#include <cmath>

#include <accrue/core/factories.h>

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
    Tensor seed = zeros(y.shape(), y.dtype());
    seed.data<double>()[j] = 1;
    const auto g = grad(y, wrt, {.retain_graph = true, .gradient = seed, .allow_unused = true});
    for (size_t i = 0; i < wrt.size(); ++i)
      jacobians[i].push_back(g[i].defined()
                                 ? g[i].to_vector<double>()
                                 : std::vector<double>(static_cast<size_t>(wrt[i].numel())));
  }
  return jacobians;
}

/// The address of each element, in row-major order.
std::vector<double*> elements_of(const Tensor& x) {
  std::vector<double*> out;
  const Layout& at = x.layout();
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t offset = 0;
    int64_t rest = i;
    for (int d = at.rank() - 1; d >= 0; --d) {
      offset += rest % at.shape[d] * at.strides[d];
      rest /= at.shape[d];
    }
    out.push_back(x.data<double>() + offset);
  }
  return out;
}

/// Central differences of all outputs for one input element.
std::vector<double> numeric_column(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                   double* element, double step) {
  const NoGrad no_grad;
  const double x = *element;
  const double h = step * std::max(1.0, std::abs(x));
  *element = x + h;
  std::vector<double> up = f(inputs).to_vector<double>();
  *element = x - h;
  const std::vector<double> down = f(inputs).to_vector<double>();
  *element = x;
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
    const auto elements = elements_of(wrt[i]);
    for (size_t e = 0; e < elements.size(); ++e) {
      const auto numeric = numeric_column(f, inputs, elements[e], options.step);
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
