#include "tools/train.h"

#include <sstream>

#include "tests/tools/support.h"
#include "tools/dataset.h"
#include "tools/models.h"

#include <accrue/accrue.h>

namespace accrue::test {
namespace {

using namespace accrue::tools;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Train : public WithData {
 protected:
  /// The lines that a run wrote.
  std::vector<Json> run(TrainOptions options) {
    options.out = folder.path();
    std::ostringstream text;
    train(options, text, false);
    EXPECT_FALSE(fs::exists(folder / "metrics.jsonl.part"));
    return lines_of(folder / "metrics.jsonl");
  }
  /// What a run computed, without what the clock and the threads have in it.
  static Json numbers(const std::vector<Json>& lines) {
    Json all = Json::array();
    for (const Json& line : lines)
      for (const char* key :
           {"train_loss", "train_accuracy", "test_loss", "test_accuracy", "steps"})
        if (line.contains(key)) all.push_back(line[key]);
    return all;
  }
};

TEST_F(Train, BothModelsLearnAndSayWhatTheyMeasured) {
  for (const char* model : {"mlp", "cnn"}) {
    SCOPED_TRACE(model);
    const auto lines = run({.model = model, .epochs = 2, .limit = 512});
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0]["event"], "start");
    EXPECT_EQ(lines[0]["model"], model);
    EXPECT_EQ(lines[0]["limit"], 512);
    EXPECT_EQ(lines[1]["event"], "epoch");
    EXPECT_EQ(lines[2]["epoch"], 2);
    EXPECT_LT(lines[2]["train_loss"], lines[1]["train_loss"]);
    const Json& end = lines[3];
    EXPECT_EQ(end["event"], "end");
    EXPECT_EQ(end["test_accuracy"], lines[2]["test_accuracy"]);
    EXPECT_GT(end["test_accuracy"], 0.25);  // by chance 0.1
    EXPECT_LE(end["test_accuracy"], 1.0);
    EXPECT_GT(end["seconds"], 0.0);
    EXPECT_GT(end["samples_per_s"], 0.0);
    EXPECT_GT(end["peak_bytes"], 100'000);
    EXPECT_EQ(end["steps"], 8);
  }
}

TEST_F(Train, TheSeedDecidesEveryBitAndThreadsNone) {
  for (const char* model : {"mlp", "cnn"}) {
    SCOPED_TRACE(model);
    const TrainOptions options = {
        .model = model, .epochs = 2, .seed = 3, .threads = 1, .limit = 200};
    const Json once = numbers(run(options));
    EXPECT_EQ(numbers(run(options)), once);
    TrainOptions other = options;
    other.threads = 2;
    EXPECT_EQ(numbers(run(other)), once);
    other = options;
    other.seed = 4;
    EXPECT_NE(numbers(run(other)), once);
  }
}

// The same windows in other pieces: the same losses and accuracies, to the last bit.
TEST_F(Train, HowAWindowIsCutChangesNoBit) {
  for (const char* model : {"mlp", "cnn"}) {
    SCOPED_TRACE(model);
    const auto cut = [&](int64_t micro_batch, int64_t accumulate) {
      return numbers(run({.model = model,
                          .micro_batch = micro_batch,
                          .accumulate = accumulate,
                          .epochs = 2,
                          .limit = 300}));
    };
    const Json whole = cut(128, 1);
    EXPECT_EQ(cut(64, 2), whole);
    EXPECT_EQ(cut(32, 4), whole);
    EXPECT_EQ(cut(8, 16), whole);
    EXPECT_EQ(cut(1, 128), whole);
    EXPECT_NE(cut(32, 2), whole);
  }
}

TEST_F(Train, EveryWindowOfAnEpochIsOneStepTheLastOneToo) {
  struct Case {
    int64_t limit, micro_batch, accumulate, steps;
  };
  for (const Case& c :
       {Case{100, 32, 3, 2}, Case{100, 32, 4, 1}, Case{96, 32, 3, 1}, Case{97, 32, 3, 2},
        Case{1, 32, 4, 1}, Case{100, 1, 7, 15}, Case{100, 1000, 1, 1}, Case{100, 10, 1000, 1}}) {
    SCOPED_TRACE(::testing::Message()
                 << c.limit << " in " << c.accumulate << " x " << c.micro_batch);
    const auto lines = run(
        {.micro_batch = c.micro_batch, .accumulate = c.accumulate, .epochs = 2, .limit = c.limit});
    EXPECT_EQ(lines[1]["steps"], c.steps);
    EXPECT_EQ(lines[2]["steps"], 2 * c.steps);
    EXPECT_EQ(lines[3]["steps"], 2 * c.steps);
  }
}

/// 100 images in windows of 96 and 4, without any accumulation: each window is one batch, and its
/// gradient is divided by the number of its images.
struct ByHand {
  double train_loss = 0, test_loss = 0;  // of the second epoch

  explicit ByHand(bool mean_loss) {
    const Dataset data = load_fashion_mnist(fashion_mnist_folder());
    manual_seed(7);
    const auto model = make_model("mlp");
    optim::SGD sgd(model->named_parameters(), {.lr = 0.05, .momentum = 0.9});
    const auto loss_of = [&](const Batch& batch, Reduction reduction) {
      return cross_entropy((*model)(batch.images), batch.labels, {.reduction = reduction});
    };
    for (int epoch = 0; epoch < 2; ++epoch) {
      const Tensor order = randperm(100);
      train_loss = 0;
      for (const auto& [at, size] : {std::pair{0, 96}, std::pair{96, 4}}) {
        const Batch window = make_batch(data.train, narrow(order, 0, at, size));
        for (double row : loss_of(window, Reduction::none).to_vector<double>()) train_loss += row;
        if (mean_loss) {
          loss_of(window, Reduction::mean).backward();
          sgd.step();
        } else {
          loss_of(window, Reduction::sum).backward();
          sgd.step({.grad_scale = 1.0 / size});
        }
        sgd.zero_grad();
      }
      train_loss /= 100;
    }
    const Batch test = make_batch(data.test, arange(kTestImages));
    for (double row : loss_of(test, Reduction::none).to_vector<double>()) test_loss += row;
    test_loss /= kTestImages;
  }
};

TEST_F(Train, TheLastSmallerWindowIsWeightedByItsOwnImages) {
  const auto lines = run({.micro_batch = 32,
                          .accumulate = 3,
                          .epochs = 2,
                          .optimizer = "sgd",
                          .lr = 0.05,
                          .seed = 7,
                          .limit = 100});
  const ByHand sums(false);
  EXPECT_EQ(lines[2]["train_loss"].get<double>(), sums.train_loss);
  EXPECT_EQ(lines[2]["test_loss"].get<double>(), sums.test_loss);
  const ByHand means(true);
  EXPECT_NEAR(lines[2]["train_loss"].get<double>(), means.train_loss, 1e-5);
  EXPECT_NEAR(lines[2]["test_loss"].get<double>(), means.test_loss, 1e-5);
}

TEST_F(Train, ALearningRateOf0ChangesNothing) {
  const auto lines = run({.epochs = 2, .lr = 0, .limit = 64});
  EXPECT_EQ(lines[1]["test_loss"], lines[2]["test_loss"]);
}

TEST_F(Train, ARunThatDivergesSaysSoAndLeavesNoResult) {
  TrainOptions options = {.optimizer = "sgd", .lr = 1e30, .out = folder.path(), .limit = 256};
  std::ostringstream text;
  EXPECT_THAT(message_of<ValueError>([&] { train(options, text, false); }),
              AllOf(StartsWith("train: the loss is"), HasSubstr("lower --lr")));
  EXPECT_FALSE(fs::exists(folder / "metrics.jsonl"));
  EXPECT_EQ(lines_of(folder / "metrics.jsonl.part").size(), 1U);
}

TEST_F(Train, BadOptionsAreNamedBeforeAnythingIsWritten) {
  struct Case {
    TrainOptions options;
    const char* text;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Case& c :
       {Case{{.data = "mnist"}, "--data: 'mnist' is unknown; it is fashion-mnist"},
        Case{{.model = "foo"}, "--model: 'foo' is unknown; it is mlp or cnn"},
        Case{{.micro_batch = 0}, "--micro-batch: 0; it must be 1 or more"},
        Case{{.accumulate = -1}, "--accumulate: -1; it must be 1 or more"},
        Case{{.epochs = 0}, "--epochs: 0; it must be 1 or more"},
        Case{{.epochs = 1L << 60}, "it must be at most 1000000000"},
        Case{{.optimizer = "foo"}, "--optimizer: 'foo' is unknown; it is sgd, adam or adamw"},
        Case{{.lr = -1}, "--lr: -1; it must be a finite number, 0 or more"},
        Case{{.lr = nan}, "--lr: nan; it must be"},
        Case{{.threads = -1}, "--threads: -1; it must be 1 to 1024, or 0"},
        Case{{.threads = 5000}, "--threads: 5000; it must be"},
        Case{{.limit = -1}, "--limit: -1; it must be 0 or more"}}) {
    TrainOptions options = c.options;
    options.out = folder / "out";
    std::ostringstream text;
    EXPECT_THAT(message_of<ValueError>([&] { train(options, text, false); }), HasSubstr(c.text));
    EXPECT_EQ(text.str(), "");
    EXPECT_FALSE(fs::exists(options.out));
  }
  for (const char* device : {"tpu", "cuda:x", "", "CPU"})
    EXPECT_THAT(message_of<DeviceError>([&] {
                  std::ostringstream text;
                  train({.device = device}, text, false);
                }),
                AllOf(StartsWith("device: '"), HasSubstr("it is cpu, cuda or cuda:0 to cuda:9")));
}

}  // namespace
}  // namespace accrue::test
