#include "tools/dataset.h"

#include <cmath>

#include "tests/tools/support.h"

#include <accrue/accrue.h>

namespace accrue::test {
namespace {

using namespace accrue::tools;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTrainPart = "train-images-idx3-ubyte.gz";
constexpr const char* kLabelPart = "train-labels-idx1-ubyte.gz";

class Data : public ::testing::Test {
 protected:
  Data() { write_data(folder); }
  std::string rejected() {
    std::string text = message_of<FileError>([&] { load_fashion_mnist(folder.path()); });
    EXPECT_THAT(text, AllOf(HasSubstr(folder.path()), Not(HasSubstr("\n"))));
    return text;
  }
  Folder folder;
};

TEST_F(Data, IsLoadedWhole) {
  const Dataset data = load_fashion_mnist(folder.path());
  EXPECT_EQ(data.train.images.shape(), (Dims{kTrainImages, 28, 28}));
  EXPECT_EQ(data.test.images.shape(), (Dims{kTestImages, 28, 28}));
  EXPECT_EQ(data.train.labels.dtype(), DType::int64);
  EXPECT_EQ(data.train.labels.at({3}), (3 * 7 + 1) % 10);
}

TEST_F(Data, TheFirstImagesOrAll) {
  const Split train = load_fashion_mnist(folder.path()).train;
  EXPECT_EQ(train.first(5).size(), 5);
  EXPECT_EQ(train.first(5).labels.numel(), 5);
  EXPECT_EQ(train.first(1'000'000).size(), train.size());
}

TEST_F(Data, ABatchIsTheChosenImagesBroughtToScale) {
  const Split train = load_fashion_mnist(folder.path()).train;
  const Batch batch = make_batch(train, tensor({7, 2}, DType::int64));
  EXPECT_EQ(batch.images.shape(), (Dims{2, 1, 28, 28}));
  EXPECT_EQ(batch.labels.at({0}), train.labels.at({7}));
  const double pixel = train.images.at({2, 9, 4});
  EXPECT_NEAR(batch.images.at({1, 0, 9, 4}), (pixel / 255 - 0.2860) / 0.3530, 1e-5);
}

TEST_F(Data, AMissingFileBringsTheAptLine) {
  EXPECT_TRUE(fashion_mnist_found(folder.path()));
  fs::remove(folder / kLabelPart);
  EXPECT_FALSE(fashion_mnist_found(folder.path()));
  EXPECT_THAT(rejected(), HasSubstr("apt-get install dataset-fashion-mnist"));
}

TEST_F(Data, ACutAndAFlippedFileAreNamed) {
  const std::string whole = read_file(folder / kTrainPart);
  const auto put = [&](const std::string& text) {
    write_file(folder / kTrainPart, Bytes(text.begin(), text.end()));
  };
  put(whole.substr(0, whole.size() / 2));
  EXPECT_THAT(rejected(), AllOf(HasSubstr(kTrainPart), HasSubstr("was cut")));
  std::string flipped = whole;
  flipped[flipped.size() / 2] ^= 1;
  put(flipped);
  EXPECT_THAT(rejected(), AllOf(HasSubstr(kTrainPart), HasSubstr("is damaged")));
}

TEST_F(Data, ImagesAndLabelsMustFit) {
  write_file(folder / kLabelPart, idx({3}, {1, 2, 3}));
  EXPECT_THAT(rejected(), AllOf(HasSubstr(kLabelPart), HasSubstr("[3] labels for 600 images")));
  Bytes labels(kTrainImages, 9);
  write_file(folder / kLabelPart, idx({kTrainImages}, labels));
  EXPECT_NO_THROW(load_fashion_mnist(folder.path()));
  labels[41] = 10;
  write_file(folder / kLabelPart, idx({kTrainImages}, labels));
  EXPECT_THAT(rejected(), HasSubstr("label 41 in"));
  write_file(folder / kTrainPart, idx({2, 3, 4}, Bytes(24)));
  EXPECT_THAT(rejected(), AllOf(HasSubstr(kTrainPart), HasSubstr("images are [N, 28, 28]")));
  write_file(folder / kTrainPart, idx({0, 28, 28}, {}));
  EXPECT_THAT(rejected(), HasSubstr("holds no images"));
}

// The constants in make_batch() are those of the real images.
TEST(RealData, HasMean0AndDeviation1) {
  if (!fashion_mnist_found(fashion_mnist_folder()))
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const Dataset data = load_fashion_mnist(fashion_mnist_folder());
  EXPECT_EQ(data.train.images.shape(), (Dims{60000, 28, 28}));
  EXPECT_EQ(data.test.images.shape(), (Dims{10000, 28, 28}));
  const Tensor images = make_batch(data.train, arange(0, 60000, 6)).images;
  const double average = mean(images).item();
  EXPECT_NEAR(average, 0, 0.01);
  EXPECT_NEAR(std::sqrt(mean(images * images).item() - average * average), 1, 0.01);
}

}  // namespace
}  // namespace accrue::test
