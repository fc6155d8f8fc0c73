#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <accrue/core/factories.h>

#include <accrue/autograd/anomaly.h>
#include <accrue/autograd/grad.h>
#include <accrue/autograd/op.h>
#include <accrue/autograd/ops.h>
#include <accrue/autograd/tape.h>

namespace accrue {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor number(double value) { return scalar(value, DType::float64).set_requires_grad(); }

TEST(Tape, StandsInReverseExecutionOrder) {
  Tensor x = number(1);
  Tensor a = exp(x);
  Tensor b = tanh(x);
  Tensor y = b * a;
  std::vector<std::string> names;
  for (const auto& node : Tape::of(y)) names.emplace_back(node->name());
  EXPECT_EQ(names, (std::vector<std::string>{"mul", "tanh", "exp"}));
  EXPECT_TRUE(Tape::of(x).size() == 0);
}

TEST(Tape, PrintsALineForEachOperator) {
  Tensor w = tensor({1, 2, 3}).set_requires_grad();
  Tensor y = tanh(w) * 2.0;
  std::ostringstream out;
  out << Tape::of(y);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("tape of 2 operators, 12 bytes saved"),
                               HasSubstr("mul [3] saves 0 bytes"),
                               HasSubstr("tanh [3] saves 12 bytes; gradients go to leaf [3]")));
}

TEST(Tape, MayBeHeldAcrossBackward) {
  Tensor x = number(1);
  Tensor y = exp(x);
  const Tape tape = Tape::of(y);
  y.backward();
  EXPECT_TRUE(x.grad().defined());
}

/// Runs `body` on a thread whose stack is 256 KiB.
void on_small_stack(void (*body)()) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{256} << 10), 0);
  pthread_t thread{};
  const auto start = [](void* f) -> void* {
    reinterpret_cast<void (*)()>(f)();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, start, reinterpret_cast<void*>(body)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr int kDeep = 1'000'000;

TEST(Tape, case_AG_03_AMillionNodesBackwardOnASmallStack) {
  on_small_stack([] {
    Tensor x = number(1);
    Tensor y = x;
    for (int i = 0; i < kDeep; ++i) y = y + 0.0;
    y.backward();
    EXPECT_EQ(x.grad().item(), 1);
  });
  EXPECT_EQ(Node::live(), 0);
}

TEST(Tape, case_AG_03_AMillionNodesDroppedOnASmallStack) {
  on_small_stack([] {
    Tensor y = number(1);
    for (int i = 0; i < kDeep; ++i) y = y + 0.0;
    Tensor z = number(1);
    for (int i = 0; i < kDeep; ++i) z = z * z;  // two edges to each node
  });
  EXPECT_EQ(Node::live(), 0);
}

TEST(Anomaly, case_AG_11_ForwardNamesTheOperatorAndItsIndex) {
  const Tensor x = tensor({1, -1}, DType::float64);
  EXPECT_NO_THROW(log(x));  // off by default
  const AnomalyMode on;
  EXPECT_THAT([&] { log(x); },
              ThrowsMessage<AutogradError>(AllOf(HasSubstr("log: "), HasSubstr("shape [2]"),
                                                 HasSubstr("at [1]"), HasSubstr("called from"))));
}

struct BadOp {
  static constexpr const char* name = "bad_op";
  Tensor forward(const Tensor& x) { return x.alias(x.layout()); }
  void backward(const Tensor& dy, GradSink dx) {
    dx.add(full(dy.shape(), std::numeric_limits<double>::quiet_NaN(), dy.dtype()));
  }
};

}  // namespace

// Exported, so that the message can be checked for the place of the call.
__attribute__((noinline)) Tensor call_bad_op(const Tensor& x) { return apply(BadOp{}, x) + 0.0; }

namespace {

TEST(Anomaly, case_AG_11_BackwardNamesTheOperatorAndAddsNothing) {
  Tensor x = tensor({1, 2}, DType::float64).set_requires_grad();
  const AnomalyMode on;
  Tensor y = call_bad_op(x * 1.0);
  for (int i = 0; i < 5; ++i) y = y * 1.0;
  EXPECT_THAT(
      [&] { y.backward({.gradient = ones({2}, DType::float64)}); },
      ThrowsMessage<AutogradError>(AllOf(HasSubstr("bad_op: backward made nan at [0]"),
                                         HasSubstr("shape [2]"), HasSubstr("called from"))));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Anomaly, AGradientThatWasBadBeforeIsNotBlamedOnTheOperator) {
  Tensor w = tensor({1}, DType::float64).set_requires_grad();
  set_grad(w, tensor({INFINITY}, DType::float64));
  const AnomalyMode on;
  (w * 2.0).backward({.gradient = ones({1}, DType::float64)});
  EXPECT_EQ(w.grad().item(), INFINITY);
}

TEST(Anomaly, WhatWasBadBeforeIsNotBlamedOnTheOperator) {
  const AnomalyMode on;
  const Tensor masked = tensor({-std::numeric_limits<double>::infinity(), 0}, DType::float64);
  EXPECT_NO_THROW(exp(masked));
}

}  // namespace
}  // namespace accrue
