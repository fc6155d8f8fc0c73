#include "tools/dataset.h"

#include <array>
#include <cstdlib>
#include <filesystem>

#include <accrue/core/factories.h>
#include <accrue/core/transfer.h>

#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/ops.h>

#include <accrue/io/idx.h>

namespace accrue::tools {
namespace {

constexpr const char* kFolder = "/usr/share/datasets/fashion-mnist";
constexpr std::array kFiles = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                               "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"};
constexpr int64_t kSide = 28;
constexpr int64_t kClasses = 10;
// Of the 60,000 training images, as fractions of 255.
constexpr double kMean = 0.2860;
constexpr double kDeviation = 0.3530;

Split load_split(const std::string& folder, const char* images_file, const char* labels_file) {
  const std::string images_path = folder + "/" + images_file;
  const std::string labels_path = folder + "/" + labels_file;
  const Tensor images = io::read_idx(images_path);
  const Tensor labels = io::read_idx(labels_path);
  check<FileError>(images.dim() == 3 && images.size(1) == kSide && images.size(2) == kSide,
                   "data: ", images_path, " holds ", images.shape(), "; images are [N, 28, 28]");
  check<FileError>(images.size(0) > 0, "data: ", images_path, " holds no images; install it again");
  check<FileError>(labels.shape() == Dims{images.size(0)}, "data: ", labels_path, " holds ",
                   labels.shape(), " labels for ", images.size(0),
                   " images; there must be one each");
  const uint8_t* label = labels.data<uint8_t>();
  for (int64_t i = 0; i < labels.numel(); ++i)
    check<FileError>(label[i] < kClasses, "data: label ", i, " in ", labels_path, " is ",
                     int{label[i]}, "; labels are 0 to 9");
  return {images, cast(labels, DType::int64)};
}

}  // namespace

Split Split::first(int64_t n) const {
  if (n >= size()) return *this;
  return {narrow(images, 0, 0, n), narrow(labels, 0, 0, n)};
}

std::string fashion_mnist_folder() {
  const char* named = std::getenv("ACCRUE_DATA");
  return named && *named ? named : kFolder;
}

bool fashion_mnist_found(const std::string& folder) {
  for (const char* file : kFiles)
    if (!std::filesystem::exists(folder + "/" + file)) return false;
  return true;
}

Dataset load_fashion_mnist(const std::string& folder) {
  check<FileError>(fashion_mnist_found(folder), "data: Fashion-MNIST is not in ", folder,
                   "; install it: apt-get install dataset-fashion-mnist");
  return {load_split(folder, kFiles[0], kFiles[1]), load_split(folder, kFiles[2], kFiles[3])};
}

Batch make_batch(const Split& split, const Tensor& index, Device device) {
  const NoGrad no_grad;
  const Tensor bytes = index_select(split.images, 0, index);
  Tensor images = cast(reshape(bytes, {index.numel(), 1, kSide, kSide}), DType::float32);
  images *= 1 / (255.0 * kDeviation);
  images -= kMean / kDeviation;
  return {to_device(images, device), to_device(index_select(split.labels, 0, index), device)};
}

}  // namespace accrue::tools
