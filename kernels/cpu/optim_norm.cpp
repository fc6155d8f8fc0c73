// Sums over a gradient for its norm: in double, over a number of blocks that depends on the size
// alone, each with a fixed number of chains; so they are the same for any number of threads and on
// every processor.
#include <algorithm>
#include <cmath>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/walk.h>
#include <accrue/kernels/optim.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cpu {
namespace {

constexpr int64_t kBlocks = 64;
constexpr int64_t kFewest = 1 << 12;  // elements of a block, unless it is the last
constexpr int64_t kChains = 8;

// fold(fold(0, f(x0)), f(x1)) ... in a fixed tree.
template <class T, class F, class Fold>
double reduce_dense(const T* x, int64_t n, const F& f, const Fold& fold) {
  double chain[kChains] = {};
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains)
    for (int64_t j = 0; j < kChains; ++j)
      chain[j] = fold(chain[j], f(static_cast<double>(x[i + j])));
  for (; i < n; ++i) chain[0] = fold(chain[0], f(static_cast<double>(x[i])));
  double total = 0;
  for (const double c : chain) total = fold(total, c);
  return total;
}

template <class F, class Fold>
double reduce_one(const ConstView& x, const F& f, const Fold& fold) {
  const int64_t n = numel(x.shape);
  const int64_t block = std::max(kFewest, ceil_div(n, kBlocks));
  const int64_t blocks = ceil_div(n, block);
  const bool dense = layout::is_contiguous({x.shape, x.strides, 0});
  double partial[kBlocks] = {};
  visit_float(x.dtype, [&]<class T>() {
    const auto* data = static_cast<const T*>(x.data);
    parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t from = b * block;
        const int64_t to = std::min(n, from + block);
        if (dense) {
          partial[b] = reduce_dense(data + from, to - from, f, fold);
          continue;
        }
        Walk walk(x.shape, x.strides, from);
        for (int64_t i = from; i < to; ++i)
          partial[b] = fold(partial[b], f(static_cast<double>(data[walk.next()])));
      }
    });
  });
  double total = 0;
  for (int64_t b = 0; b < blocks; ++b) total = fold(total, partial[b]);
  return total;
}

template <class F, class Fold>
void reduce_all(const ConstViews& all, const Dest& y, const F& f, const Fold& fold) {
  double total = 0;
  for (const ConstView& x : all) total = fold(total, reduce_one(x, f, fold));
  store(static_cast<double*>(y.view.data), total, y.write);
}

}  // namespace

void power_sum(double p, double scale, const ConstViews& x, const Dest& y) {
  const auto add = [](double a, double b) { return a + b; };
  if (p == 2) {
    reduce_all(
        x, y, [scale](double v) { return (v * scale) * (v * scale); }, add);
  } else if (p == 1) {
    reduce_all(
        x, y, [scale](double v) { return std::abs(v * scale); }, add);
  } else {
    reduce_all(
        x, y, [scale, p](double v) { return std::pow(std::abs(v * scale), p); }, add);
  }
}

void max_abs(const ConstViews& x, const Dest& y) {
  reduce_all(
      x, y, [](double v) { return std::abs(v); },
      [](double a, double b) { return b > a || std::isnan(b) ? b : a; });
}

}  // namespace accrue::kernels::cpu
