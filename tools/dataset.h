// Fashion-MNIST (Xiao, Rasul & Vollgraf 2017), as Debian's package dataset-fashion-mnist installs
// it.
#pragma once
#include <string>

#include <accrue/core/tensor.h>

namespace accrue::tools {

struct Split {
  Tensor images;  ///< uint8 [N, 28, 28]
  Tensor labels;  ///< int64 [N], 0 to 9
  int64_t size() const { return images.size(0); }
  /// The first n, or all if there are no more. Shares memory.
  Split first(int64_t n) const;
};

struct Dataset {
  Split train, test;
};

/// Where the package puts it, unless ACCRUE_DATA names another folder.
std::string fashion_mnist_folder();
/// Whether all four files are there.
bool fashion_mnist_found(const std::string& folder);
/// Throws FileError if a file is missing, with the apt line that brings it, or damaged; if the
/// numbers of images and labels differ; or if a label is not 0 to 9.
Dataset load_fashion_mnist(const std::string& folder);

/// The images and labels at `index`, int64 [n], ready for a model: images as float32 [n, 1, 28, 28]
/// with the training set's mean 0 and deviation 1. Made where the split is, then moved to `device`.
struct Batch {
  Tensor images, labels;
};
Batch make_batch(const Split& split, const Tensor& index, Device device = {});

}  // namespace accrue::tools
