// accrue in one include: everything a user needs.
//
// Tensors and tape autograd in which backward() adds into .grad. The layers stand in their order;
// read core/tensor.h first.
#pragma once
#include <accrue/core/factories.h>
#include <accrue/core/tensor.h>

#include <accrue/version.h>
