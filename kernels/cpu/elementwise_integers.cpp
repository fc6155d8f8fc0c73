// The functions that integers and bools have, on int64_t, wrapping on overflow (this file is
// compiled with -fwrapv). Not vectorised by hand: masks, labels and counts are small.
#include <accrue/kernels/cpu/blocks.h>

namespace accrue::kernels::cpu {
namespace {

template <class F>
void integer_block(Params p, const int64_t* const* in, int64_t* out, int64_t n, Write write) {
  constexpr F f;
  for (int64_t i = 0; i < n; ++i) {
    int64_t y = 0;
    if constexpr (f.arity == 1) {
      y = f(p, in[0][i]);
    } else if constexpr (f.arity == 2) {
      y = f(p, in[0][i], in[1][i]);
    } else {
      y = f(p, in[0][i], in[1][i], in[2][i]);
    }
    out[i] = write == Write::add ? out[i] + y : y;
  }
}

template <class Op>
Block<int64_t> pick(Op op) {
  return functor::visit(op, []<class F>(F) -> Block<int64_t> {
    if constexpr (F::takes_integers) {
      return integer_block<F>;
    } else {
      return nullptr;
    }
  });
}

}  // namespace

template <>
Block<int64_t> block_of<int64_t>(Unary f) {
  return pick(f);
}
template <>
Block<int64_t> block_of<int64_t>(Binary f) {
  return pick(f);
}
template <>
Block<int64_t> block_of<int64_t>(Ternary f) {
  return pick(f);
}

}  // namespace accrue::kernels::cpu
