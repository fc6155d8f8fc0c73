// Every operator: include this, or the one family you need.
#pragma once
#include <accrue/autograd/ops/activation.h>
#include <accrue/autograd/ops/arithmetic.h>
#include <accrue/autograd/ops/attention.h>
#include <accrue/autograd/ops/cast.h>
#include <accrue/autograd/ops/compare.h>
#include <accrue/autograd/ops/conv.h>
#include <accrue/autograd/ops/dropout.h>
#include <accrue/autograd/ops/index.h>
#include <accrue/autograd/ops/inplace.h>
#include <accrue/autograd/ops/join.h>
#include <accrue/autograd/ops/matmul.h>
#include <accrue/autograd/ops/norm.h>
#include <accrue/autograd/ops/pool.h>
#include <accrue/autograd/ops/rearrange.h>
#include <accrue/autograd/ops/shape.h>
#include <accrue/autograd/ops/softmax.h>
