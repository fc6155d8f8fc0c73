// A small data set of the right form, in a folder of its own, and what a run wrote.
//
// The tests need no package: ACCRUE_DATA leads the code under test to these images, in which each
// class has bright rows of its own under some noise, so that a few steps learn something.
#pragma once
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/io/idx_bytes.h"
#include "tests/io/support.h"
#include "tools/train.h"
#include <nlohmann/json.hpp>

namespace accrue::test {

using Json = nlohmann::json;

inline constexpr uint32_t kTrainImages = 600, kTestImages = 250;

inline void write_images(const Folder& folder, const std::string& name, uint32_t n, uint32_t seed) {
  constexpr uint32_t side = 28, classes = 10;
  Bytes images, labels;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t label = (i * 7 + seed) % classes;
    labels.push_back(static_cast<unsigned char>(label));
    for (uint32_t p = 0; p < side * side; ++p) {
      seed = seed * 1664525U + 1013904223U;
      const uint32_t bright = p / side % classes == label ? 120 : 0;
      images.push_back(static_cast<unsigned char>(bright + (seed >> 25)));
    }
  }
  write_file(folder / (name + "-images-idx3-ubyte.gz"), packed(idx({n, side, side}, images), 1));
  write_file(folder / (name + "-labels-idx1-ubyte.gz"), packed(idx({n}, labels)));
}

inline void write_data(const Folder& folder) {
  write_images(folder, "train", kTrainImages, 1);
  write_images(folder, "t10k", kTestImages, 2);
}

/// Tests in which ACCRUE_DATA names a folder of such images.
class WithData : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    data = new Folder;
    write_data(*data);
    setenv("ACCRUE_DATA", data->path().c_str(), 1);
  }
  static void TearDownTestSuite() {
    unsetenv("ACCRUE_DATA");
    delete data;
    data = nullptr;
  }
  inline static Folder* data = nullptr;
  Folder folder;
};

/// The objects in a file of one JSON object a line; every line is whole.
inline std::vector<Json> lines_of(const std::string& path) {
  const std::string text = read_file(path);
  EXPECT_TRUE(text.empty() || text.back() == '\n') << path;
  std::vector<Json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(Json::parse(line, nullptr, false));
    EXPECT_TRUE(lines.back().is_object()) << line;
  }
  return lines;
}

}  // namespace accrue::test
