#include <accrue/nn/pooling.h>

namespace accrue::nn {
namespace {

template <class Options>
void check_windows(const char* name, const Options& o) {
  for (int i = 0; i < 2; ++i)
    check<ValueError>(o.kernel[i] > 0 && o.stride[i] >= 0 && o.padding[i] >= 0, name,
                      ": a window of ", o.kernel[i], ", stride ", o.stride[i], " and padding ",
                      o.padding[i], "; a window is at least 1, the others at least 0");
}

template <class Options>
std::string describe(const Options& o) {
  const auto pair = [](const std::array<int64_t, 2>& p) {
    return detail::concat('(', p[0], ", ", p[1], ')');
  };
  const std::array<int64_t, 2> stride = {o.stride[0] ? o.stride[0] : o.kernel[0],
                                         o.stride[1] ? o.stride[1] : o.kernel[1]};
  return detail::concat("kernel_size=", pair(o.kernel), ", stride=", pair(stride),
                        ", padding=", pair(o.padding));
}

}  // namespace

MaxPool2d::MaxPool2d(const Pool2dOptions& options) : options_(options) {
  check_windows("MaxPool2d", options);
}
Tensor MaxPool2d::forward(const Tensor& x) { return max_pool2d(x, options_); }
std::string MaxPool2d::extra_repr() const { return describe(options_); }

AvgPool2d::AvgPool2d(const AvgPool2dOptions& options) : options_(options) {
  check_windows("AvgPool2d", options);
}
Tensor AvgPool2d::forward(const Tensor& x) { return avg_pool2d(x, options_); }
std::string AvgPool2d::extra_repr() const { return describe(options_); }

}  // namespace accrue::nn
