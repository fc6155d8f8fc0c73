// What the chapters of random cases share. Each chapter is one file, random_NAME.cpp, and adds
// its operators to the list that random_ops() of random_cases.h returns.
#pragma once
#include <string>
#include <vector>

#include "tests/ops/random_cases.h"

namespace accrue::testing {

using X = const Tensor&;
using V = const Tensors&;

inline const OpTraits kAnyChain{.adds = Adds::chained};
inline const OpTraits kAnyFractions{.adds = Adds::chained_fractions};
inline const OpTraits kNoGradient{.differentiable = false};

inline OpCase made(const std::string& name, const std::vector<Input>& inputs, const OpFunction& f,
                   const OpReference& reference, Tolerance tolerance, const OpTraits& traits = {}) {
  return {name, inputs, f, reference, tolerance, {}, traits};
}

/// Adds to the list an operator whose cases are make(random, which...).
class OpAdder {
 public:
  explicit OpAdder(std::vector<RandomOp>& all) : all_(all) {}
  template <class Make, class... Which>
  void operator()(const char* op, Make make, Which... which) const {
    all_.push_back({op, [=](Random& r) { return make(r, which...); }});
  }

 private:
  std::vector<RandomOp>& all_;
};

void add_elementwise(const OpAdder& has);
void add_rows(const OpAdder& has);
void add_products(const OpAdder& has);
void add_views(const OpAdder& has);
void add_picks(const OpAdder& has);

}  // namespace accrue::testing
