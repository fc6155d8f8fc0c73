// Whether cutting a batch into micro-batches may show in the last bit of a gradient on a CUDA
// device.
//
// On the CPU it never does: every sum over a batch goes on from the gradient's old content, one
// term after another. A GPU is faster with such sums cut in pieces and with cuBLAS, whose order is
// its own; so there it is a choice. Either way a run repeats bit for bit.
#pragma once

namespace accrue {

/// On: on CUDA devices too, 8 micro-batches equal one large batch, bit for bit. Off at first. For
/// the whole process, and the kernels launched from now on.
void set_split_invariant(bool on);
bool split_invariant();

}  // namespace accrue
