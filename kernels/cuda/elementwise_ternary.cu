// The ternary functions of functors.h. Now read: elementwise_map.cuh.
#include <accrue/kernels/cuda/elementwise_map.cuh>

namespace accrue::kernels::cuda {

void map(Ternary f, const Params& p, DType computed, const Operands& x, const Nest& at) {
  map_any(f, p, computed, x, at);
}

}  // namespace accrue::kernels::cuda
