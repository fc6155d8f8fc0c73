// The vector loop behind every Block, and the table from an enumerator to its loop. Included by
// elementwise_unary.cpp, _binary.cpp and _ternary.cpp once per target: the functors must be
// compiled in the namespace, and so with the instructions, of that target.
#if defined(ACCRUE_KERNELS_CPU_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ACCRUE_KERNELS_CPU_BLOCKS_INL_H
#undef ACCRUE_KERNELS_CPU_BLOCKS_INL_H
#else
#define ACCRUE_KERNELS_CPU_BLOCKS_INL_H
#endif

#include <utility>

#include <accrue/kernels/cpu/blocks.h>
#include <accrue/kernels/cpu/simd.h>

HWY_BEFORE_NAMESPACE();
#define ACCRUE_FUNCTOR_NAMESPACE accrue::kernels::cpu::HWY_NAMESPACE::functors
#include <accrue/kernels/functors.h>

namespace accrue::kernels::cpu::HWY_NAMESPACE {

template <auto op, class C>
void block(Params p, const C* const* in, C* out, int64_t n, Write write) {
  using V = Vec<C>;
  constexpr functors::Functor<op> f;
  const C* const a = in[0];
  const C* const b = f.arity > 1 ? in[1] : a;
  const C* const c = f.arity > 2 ? in[2] : a;
  int64_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) {
    V y;
    if constexpr (f.arity == 1) {
      y = f(p, V::load(a + i));
    } else if constexpr (f.arity == 2) {
      y = f(p, V::load(a + i), V::load(b + i));
    } else {
      y = f(p, V::load(a + i), V::load(b + i), V::load(c + i));
    }
    if (write == Write::add) y = V::load(out + i) + y;
    y.store(out + i);
  }
  const int64_t rest = n - i;
  if (rest == 0) return;
  V y;
  if constexpr (f.arity == 1) {
    y = f(p, V::load_first(a + i, rest));
  } else if constexpr (f.arity == 2) {
    y = f(p, V::load_first(a + i, rest), V::load_first(b + i, rest));
  } else {
    y = f(p, V::load_first(a + i, rest), V::load_first(b + i, rest), V::load_first(c + i, rest));
  }
  if (write == Write::add) y = V::load_first(out + i, rest) + y;
  y.store_first(out + i, rest);
}

template <class Op, class C, size_t... I>
Block<C> pick(Op f, std::index_sequence<I...>) {
  static constexpr Block<C> table[] = {block<static_cast<Op>(I), C>...};
  return table[static_cast<size_t>(f)];
}
template <class Op, class C>
Block<C> pick(Op f) {
  return pick<Op, C>(f, std::make_index_sequence<static_cast<size_t>(Op::count)>{});
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
