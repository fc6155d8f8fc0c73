// The words that mutants.cpp plants in kernels. Each does nothing unless it is the mutant that the
// environment names in ACCRUE_MUTANT.
#pragma once

namespace mutant {

/// Whether this is the mutant that is awake.
bool on(int number);

inline int one_if(int number) { return on(number) ? 1 : 0; }
inline int sign(int number) { return on(number) ? -1 : 1; }
inline int twice(int number) { return on(number) ? 2 : 1; }

/// a < equal(n) > b is a == b, and a != b of the mutant; unequal() the other way round.
struct Comparison {
  bool flipped;
};
inline Comparison equal(int number) { return {on(number)}; }
inline Comparison unequal(int number) { return {!on(number)}; }

template <class A>
struct Compared {
  const A& a;
  bool flipped;
};
template <class A>
Compared<A> operator<(const A& a, Comparison with) {
  return {a, with.flipped};
}
template <class A, class B>
bool operator>(Compared<A> left, const B& b) {
  return (left.a == b) != left.flipped;
}

}  // namespace mutant
