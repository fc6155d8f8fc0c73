// accrue in one include: everything a user needs.
//
// Tensors and tape autograd in which backward() adds into .grad. The layers stand in their order;
// read core/tensor.h first.
#pragma once
#include <accrue/core/factories.h>
#include <accrue/core/memory.h>
#include <accrue/core/named_tensor.h>
#include <accrue/core/random.h>
#include <accrue/core/stream.h>
#include <accrue/core/tensor.h>
#include <accrue/core/transfer.h>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/split_invariant.h>
#include <accrue/kernels/tf32.h>
#include <accrue/kernels/trace.h>

#include <accrue/autograd/anomaly.h>
#include <accrue/autograd/grad.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/gradcheck.h>
#include <accrue/autograd/hooks.h>
#include <accrue/autograd/op.h>
#include <accrue/autograd/ops.h>
#include <accrue/autograd/tape.h>

#include <accrue/io/idx.h>
#include <accrue/io/line_file.h>
#include <accrue/nn/activation.h>
#include <accrue/nn/attention.h>
#include <accrue/nn/container.h>
#include <accrue/nn/conv.h>
#include <accrue/nn/dropout.h>
#include <accrue/nn/embedding.h>
#include <accrue/nn/init.h>
#include <accrue/nn/layer_norm.h>
#include <accrue/nn/linear.h>
#include <accrue/nn/loss.h>
#include <accrue/nn/module.h>
#include <accrue/nn/pooling.h>
#include <accrue/nn/transformer.h>
#include <accrue/optim/adam.h>
#include <accrue/optim/clip.h>
#include <accrue/optim/sgd.h>
#include <accrue/version.h>
