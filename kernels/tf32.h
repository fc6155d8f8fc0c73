// Whether float32 products on a CUDA device may run on tensor cores, which keep 10 bits behind the
// point of each factor instead of 23. Several times faster, and no float32 any more: so it is off
// until somebody asks. Sums are formed in float32 all the same.
#pragma once

namespace accrue {

/// For the whole process, and the products launched from now on.
void set_allow_tf32(bool on);
bool allow_tf32();

}  // namespace accrue
