// A batched, broadcasting product as plain ones: what both backends' matmul() make of its views.
//
// Batches are folded into rows or into the chain where the strides allow it, so that
// [B, T, K] · [K, N] is one product of B·T rows, and its weight gradient one chain over B·T. Of the
// rest, neighbouring batch dimensions that lie in memory like one become `batch`, which a kernel
// does at once; steps() walks what is left.
#pragma once
#include <algorithm>

#include <accrue/core/view.h>

namespace accrue::kernels {

/// One dimension of the product's loop nest, with what a step along it means for each operand, in
/// elements.
struct ProductAxis {
  int64_t size = 1;
  int64_t a = 0, b = 0, c = 0;

  /// Whether `outer` around this is one longer axis.
  bool continues(const ProductAxis& outer) const {
    return outer.a == a * size && outer.b == b * size && outer.c == c * size;
  }
};

struct ProductPlan {
  ProductAxis m, n, k;
  ProductAxis batch;            ///< of products that do not depend on one another
  ProductAxis outer[kMaxRank];  ///< the rest, outermost first: where c is 0, it is summed
  int outers = 0;

  /// REQUIRES: shapes as matmul() of kernels/matmul.h wants them.
  ProductPlan(const ConstView& a, const ConstView& b, const View& c);

  /// Calls f(a, b, c, first) in order, with the offsets of each step's operands, and whether no
  /// earlier step has written to its c.
  template <class F>
  void steps(F&& f) const {
    int64_t count = 1;
    for (int i = 0; i < outers; ++i) count *= outer[i].size;
    Dims index = Dims::filled(outers, 0);
    for (int64_t step = 0; step < count; ++step) {
      int64_t a = 0, b = 0, c = 0;
      bool first = true;
      for (int i = 0; i < outers; ++i) {
        a += index[i] * outer[i].a;
        b += index[i] * outer[i].b;
        c += index[i] * outer[i].c;
        first &= outer[i].c != 0 || index[i] == 0;
      }
      f(a, b, c, first);
      for (int i = outers - 1; i >= 0 && ++index[i] == outer[i].size; --i) index[i] = 0;
    }
  }
};

}  // namespace accrue::kernels
