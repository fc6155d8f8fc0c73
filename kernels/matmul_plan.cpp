#include <accrue/kernels/matmul_plan.h>

namespace accrue::kernels {
namespace {

int64_t stride_or_zero(const Dims& shape, const Dims& strides, int d) {
  return d < 0 || shape[d] == 1 ? 0 : strides[d];
}

}  // namespace

ProductPlan::ProductPlan(const ConstView& a_view, const ConstView& b_view, const View& c_view) {
  const int ra = a_view.shape.size();
  const int rb = b_view.shape.size();
  const int rc = c_view.shape.size();
  m = {a_view.shape[ra - 2], a_view.strides[ra - 2], 0, c_view.strides[rc - 2]};
  n = {b_view.shape[rb - 1], 0, b_view.strides[rb - 1], c_view.strides[rc - 1]};
  k = {a_view.shape[ra - 1], a_view.strides[ra - 1], b_view.strides[rb - 2], 0};
  const int batches = std::max({ra, rb, rc}) - 2;
  bool folding_rows = true;
  bool folding_chain = true;
  for (int i = 1; i <= batches; ++i) {  // from the innermost batch dimension outwards
    const int da = ra - 2 - i;
    const int db = rb - 2 - i;
    const int dc = rc - 2 - i;
    const int64_t size = std::max(da >= 0 ? a_view.shape[da] : 1, db >= 0 ? b_view.shape[db] : 1);
    const bool empty = (da >= 0 && a_view.shape[da] == 0) || (db >= 0 && b_view.shape[db] == 0);
    const ProductAxis axis{empty ? 0 : size, stride_or_zero(a_view.shape, a_view.strides, da),
                           stride_or_zero(b_view.shape, b_view.strides, db),
                           stride_or_zero(c_view.shape, c_view.strides, dc)};
    if (axis.size == 1) continue;
    if (axis.size == 0 && axis.c == 0) {  // a sum over no batches is one over no k
      k.size = 0;
      continue;
    }
    if (folding_rows && m.continues(axis)) {
      m.size *= axis.size;
      folding_chain = false;
    } else if (folding_chain && k.continues(axis)) {
      k.size *= axis.size;
      folding_rows = false;
    } else {
      folding_rows = folding_chain = false;
      const bool independent = outers == 0 && axis.c != 0;
      if (independent && batch.size == 1) {
        batch = axis;
      } else if (independent && batch.continues(axis)) {
        batch.size *= axis.size;
      } else {
        outer[outers++] = axis;
      }
    }
  }
  std::reverse(outer, outer + outers);
}

}  // namespace accrue::kernels
