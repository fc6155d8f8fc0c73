// Models that are trained on device cuda, by the executor, beside the same on the CPU.
#include <sstream>

#include "tests/cuda/support.h"
#include "tests/laws/models.h"
#include "tools/dataset.h"
#include "tools/train.h"

namespace accrue::testing {
namespace {

/// Two windows of two micro-batches, and what became of the parameters.
struct Trained {
  std::vector<std::vector<double>> gradients, parameters;

  explicit Trained(const std::string& name) {
    constexpr int64_t micro_batch = 3;
    const laws::Subject subject = laws::make_subject(name);
    // eps: a gradient that is nothing but rounding moves nothing.
    optim::AdamW optimizer(subject.model->named_parameters(), {.lr = 1e-3, .eps = 1e-3});
    for (int window = 0; window < 2; ++window) {
      for (int64_t i = 0; i < 2; ++i)
        subject.loss((2 * window + i) * micro_batch, micro_batch).backward();
      optim::clip_grad_norm(subject.model->named_parameters(), 1e3);
      for (const Tensor& p : subject.model->parameters())
        gradients.push_back(p.grad().to_vector<double>());
      optimizer.step({.grad_scale = 1.0 / (2 * micro_batch)});
      optimizer.zero_grad();
    }
    for (const Tensor& p : subject.model->parameters()) parameters.push_back(p.to_vector<double>());
  }
};

/// Each of `got` is that of `right` to `part` of its largest.
void expect_alike(const std::vector<std::vector<double>>& got,
                  const std::vector<std::vector<double>>& right, double part) {
  ASSERT_EQ(got.size(), right.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].size(), right[k].size());
    double most = 0, worst = 0;
    for (size_t i = 0; i < got[k].size(); ++i) {
      most = std::max(most, std::abs(right[k][i]));
      worst = std::max(worst, std::abs(got[k][i] - right[k][i]));
    }
    EXPECT_LE(worst, part * most) << "tensor " << k;
  }
}

class Training : public OnExecutor, public ::testing::WithParamInterface<std::string> {
 protected:
  ~Training() override { set_default_device({}); }
};

TEST_P(Training, TakesTheStepsOfTheCpu) {
  const Trained right(GetParam());
  set_default_device(device);
  for (const simt::Schedule& schedule : {schedules().front(), schedules().back()}) {
    synchronize(device);
    simt::set_schedule(schedule);
    const Trained got(GetParam());
    expect_alike(got.gradients, right.gradients, 2e-5);
    expect_alike(got.parameters, right.parameters, 1e-4);
  }
}
INSTANTIATE_TEST_SUITE_P(Models, Training, ::testing::Values("mlp", "cnn", "transformer"),
                         [](const auto& model) { return model.param; });

using TrainingOnImages = OnExecutor;

TEST_F(TrainingOnImages, AWindowOfFourHasTheGradientsOfTheCpu) {
  if (!tools::fashion_mnist_found(tools::fashion_mnist_folder()))
    GTEST_SKIP() << "Fashion-MNIST is not here; install it: apt-get install dataset-fashion-mnist";
  const tools::Dataset data = tools::load_fashion_mnist(tools::fashion_mnist_folder());
  const auto gradients_on = [&](Device where) {
    manual_seed(1);
    const auto model = tools::make_model("mlp");
    model->to(where);
    for (int64_t i = 0; i < 4; ++i) {
      const auto [images, labels] =
          tools::make_batch(data.train, arange(static_cast<double>(32 * i), 32.0 * (i + 1)), where);
      cross_entropy((*model)(images), labels, {.reduction = Reduction::sum}).backward();
    }
    std::vector<std::vector<double>> all;
    for (const Tensor& p : model->parameters()) all.push_back(p.grad().to_vector<double>());
    return all;
  };
  expect_alike(gradients_on(device), gradients_on({}), 1e-5);
}

// The numbers that a run prints: losses and accuracies to their fourth digit.
TEST_F(TrainingOnImages, TheCommandLearnsWhatItLearnsOnTheCpu) {
  if (!tools::fashion_mnist_found(tools::fashion_mnist_folder()))
    GTEST_SKIP() << "Fashion-MNIST is not here; install it: apt-get install dataset-fashion-mnist";
  const auto trained_on = [&](const char* where) {
    std::ostringstream said;
    const tools::RunResult result = tools::train({.model = "mlp",
                                                  .micro_batch = 32,
                                                  .accumulate = 4,
                                                  .epochs = 1,
                                                  .device = where,
                                                  .limit = 512},
                                                 said, false);
    return std::pair(result, said.str());
  };
  const auto [right, cpu_said] = trained_on("cpu");
  const auto [got, said] = trained_on("cuda");
  EXPECT_EQ(got.steps, 4);
  EXPECT_NEAR(got.test_accuracy, right.test_accuracy, 2e-3) << cpu_said << said;
  EXPECT_GT(got.test_accuracy, 0.3) << "by chance 0.1";
  EXPECT_GT(got.peak_bytes, 100'000) << "the device's";
}

}  // namespace
}  // namespace accrue::testing
