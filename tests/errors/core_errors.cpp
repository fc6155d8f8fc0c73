#include <limits>

#include "tests/errors/catalogue.h"

namespace accrue::test {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A limit that the call cannot meet, taken away again.
struct Limit {
  explicit Limit(int64_t more) {
    set_memory_limit(memory_stats(default_device()).total.live + more, default_device());
  }
  ~Limit() { set_memory_limit(0, default_device()); }
};

std::vector<WrongCall> makers() {
  return {
      wrong<ShapeError>("empty_negative", "empty", {"[2, -1]"}, "sizes are 0 or more",
                        [](World&) {
                          empty({2, -1});
                        }),
      wrong<ShapeError>("empty_too_large", "empty", {"[1099511627776, 1099511627776]", "4 byte"},
                        "must fit in 63 bits",
                        [](World&) {
                          empty({kHuge, kHuge});
                        }),
      wrong<ShapeError>("empty_hidden_by_0", "empty", {"[0, 1099511627776, 1099511627776]"},
                        "must fit in 63 bits",
                        [](World&) {
                          empty({0, kHuge, kHuge});
                        }),
      wrong<ShapeError>("zeros_negative", "zeros", {"[-3]"}, "sizes are 0 or more",
                        [](World&) { zeros({-3}); }),
      wrong<ShapeError>("ones_negative", "ones", {"[4, -3]"}, "sizes are 0 or more",
                        [](World&) {
                          ones({4, -3});
                        }),
      wrong<ShapeError>("full_too_large", "full", {"[1099511627776, 8388608]"},
                        "must fit in 63 bits",
                        [](World&) {
                          full({kHuge, 1 << 23}, 1);
                        }),
      wrong<ValueError>("full_out_of_range", "full", {"300", "uint8"}, "its range is [0, 256)",
                        [](World&) { full({2}, 300, DType::uint8); }),
      wrong<ValueError>("scalar_nan_integer", "scalar", {"nan", "int64"}, "its range is",
                        [](World&) { scalar(kNan, DType::int64); }),
      wrong<ShapeError>("tensor_count", "tensor", {"3 values", "[2, 2]"}, "it holds 4",
                        [](World&) {
                          tensor({1, 2, 3}, Dims{2, 2});
                        }),
      wrong<ShapeError>("tensor_ragged", "tensor", {"rows of 2 and 1"}, "equally long",
                        [](World&) {
                          tensor({{1, 2}, {3}});
                        }),
      wrong<ValueError>("tensor_out_of_range", "tensor", {"-1", "uint8"}, "its range is [0, 256)",
                        [](World&) {
                          tensor({3, -1}, DType::uint8);
                        }),
      wrong<ShapeError>("from_data_negative", "from_data", {"[-2]"}, "sizes are 0 or more",
                        [](World&) {
                          const float x = 0;
                          from_data(&x, {-2});
                        }),
      wrong<ShapeError>("nine_dimensions", "shape", {"more than 8"}, "at most 8",
                        [](World&) {
                          empty({1, 1, 1, 1, 1, 1, 1, 1, 1});
                        }),
      wrong<ValueError>("arange_step_0", "arange", {"from 0 to 5 by 0"}, "must be finite, not 0",
                        [](World&) { arange(0, 5, 0); }),
      wrong<ValueError>("arange_away", "arange", {"from 0 to 5 by -1"}, "lead from start to end",
                        [](World&) { arange(0, 5, -1); }),
      wrong<ValueError>("arange_nan", "arange", {"nan"}, "must be finite",
                        [](World&) { arange(0, kNan); }),
      wrong<ShapeError>("arange_too_many", "arange", {"1e+20"}, "must fit in 60 bits",
                        [](World&) { arange(0, 1e20); }),
      wrong<ValueError>("arange_out_of_range", "arange", {"256", "uint8"}, "its range is",
                        [](World&) { arange(300, DType::uint8); }),
      wrong<ShapeError>("linspace_negative", "linspace", {"-2 steps"}, "0 or more",
                        [](World&) { linspace(0, 1, -2); }),
      wrong<ShapeError>("eye_negative", "eye", {"-4"}, "sizes are 0 or more",
                        [](World&) { eye(-4); }),
      wrong<ValueError>("randint_none", "randint", {"from 3 to 3"}, "low < high",
                        [](World&) { randint(3, 3, {2}); }),
      wrong<ValueError>("randint_dtype", "randint", {"uint8", "999"}, "take a wider dtype",
                        [](World&) { randint(0, 1000, {2}, DType::uint8); }),
      wrong<ValueError>("randperm_negative", "randperm", {"-1"}, "0 or more",
                        [](World&) { randperm(-1); }),
      wrong<ValueError>("randperm_dtype", "randperm", {"uint8", "299"}, "take a wider dtype",
                        [](World&) { randperm(300, DType::uint8); }),
      wrong<ValueError>("uniform_order", "uniform", {"from 2 to 1"}, "finite and in order",
                        [](World&) { uniform({2}, 2, 1); }),
      wrong<ValueError>("uniform_in_place_nan", "uniform_", {"nan"}, "finite and in order",
                        [](World& w) { uniform_(w.plain, 0, kNan); }),
      wrong<ValueError>("normal_std", "normal", {"-1"}, "0 or more",
                        [](World&) { normal({2}, 0, -1); }),
      wrong<DTypeError>("rand_integer", "rand", {"int32"}, "floating point",
                        [](World&) { rand({2}, DType::int32); }),
      wrong<ShapeError>("randn_negative", "randn", {"[-2]"}, "sizes are 0 or more",
                        [](World&) { randn({-2}); }),
      wrong<ShapeError>("uniform_in_place_overlap", "uniform_", {"[2, 3]", "[0, 1]"},
                        "clone it first", [](World& w) { uniform_(w.wide, 0, 1); }),
      wrong<DTypeError>("normal_in_place_integer", "normal_", {"int64"}, "floating point",
                        [](World& w) { normal_(w.whole, 0, 1); }),
  };
}

std::vector<WrongCall> handles() {
  return {
      wrong<ShapeError>("item_of_many", "item", {"[2, 3]", "6 elements"}, "only one element",
                        [](World& w) { w.a.item(); }),
      wrong<IndexError>("at_rank", "at", {"[0]", "[2, 3]"}, "one number for each dimension",
                        [](World& w) { w.a.at({0}); }),
      wrong<IndexError>("at_outside", "at", {"[0, 3]", "[2, 3]"}, "must be in [-3, 3)",
                        [](World& w) {
                          w.a.at({0, 3});
                        }),
      wrong<AutogradError>("item_undefined", "item", {"not defined"}, "absent gradient",
                           [](World& w) { w.plain.grad().item(); }),
      wrong<AutogradError>("to_vector_undefined", "to_vector", {"not defined"}, "absent gradient",
                           [](World& w) { w.plain.grad().to_vector<float>(); }),
      wrong<AutogradError>("data_undefined", "data", {"not defined"}, "absent gradient",
                           [](World& w) { w.plain.grad().data<float>(); }),
      wrong<ShapeError>("size_dimension", "size", {"dimension 2"}, "[-2, 2)",
                        [](World& w) { w.a.size(2); }),
      wrong<DTypeError>("data_type", "data", {"float64", "float32"}, "cast it",
                        [](World& w) { w.a.data<double>(); }),
      wrong<DeviceError>("device_name", "device", {"'gpu'"}, "it is cpu, cuda or cuda:0",
                         [](World&) { Device::parse("gpu"); }),
      wrong<DeviceError>("device_number", "device", {"'cuda:10'"}, "cuda:0 to cuda:9",
                         [](World&) { Device::parse("cuda:10"); }),
      wrong<ValueError>("memory_limit", "set_memory_limit", {"-1"}, "positive, or 0 for none",
                        [](World&) { set_memory_limit(-1); }),
      wrong<ValueError>("threads_0", "set_num_threads", {"0"}, "from 1 to 1024",
                        [](World&) { set_num_threads(0); }),
      wrong<ValueError>("threads_many", "set_num_threads", {"5000"}, "from 1 to 1024",
                        [](World&) { set_num_threads(5000); }),
      wrong<OutOfMemory>("out_of_memory", "memory", {"4000000 bytes of activation"},
                         "smaller micro-batches",
                         [](World&) {
                           const Limit limit(1000);
                           empty({1'000'000});
                         }),
      wrong<OutOfMemory>("out_of_memory_in_an_operator", "memory", {"16 bytes", "of the limit"},
                         "in use",
                         [](World& w) {
                           const Limit limit(15);
                           matmul(w.plain, transpose(w.plain, 0, 1));
                         }),
  };
}

std::vector<WrongCall> files() {
  return {
      wrong<FileError>("idx_missing", "idx", {"/nonexistent/x", "No such file"}, "cannot open",
                       [](World&) { io::read_idx("/nonexistent/x"); }),
      wrong<FileError>("idx_folder", "idx", {"cannot open /"}, "not a regular file",
                       [](World&) { io::read_idx("/"); }),
  };
}

}  // namespace

std::vector<WrongCall> core_errors() {
  std::vector<WrongCall> all = makers();
  for (auto* more : {handles, files})
    for (WrongCall& row : more()) all.push_back(std::move(row));
  return all;
}

}  // namespace accrue::test
