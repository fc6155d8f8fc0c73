// Every operator: include this, or the one family you need.
#pragma once
#include <accrue/autograd/ops/arithmetic.h>
#include <accrue/autograd/ops/conv.h>
#include <accrue/autograd/ops/softmax.h>
