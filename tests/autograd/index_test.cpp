#include "tests/autograd/linear_law.h"
#include <gmock/gmock.h>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/index.h>

namespace accrue::testing::linear {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor ids(std::initializer_list<double> v, DType dtype = DType::int64) { return tensor(v, dtype); }
Tensor ids(std::initializer_list<double> v, const Dims& shape, DType dtype = DType::int64) {
  return tensor(v, shape, dtype);
}

TEST(Index, EveryPickHasTheGradientOfALinearFunction) {
  const Tensor i = ids({2, 0, 2, 2});
  const Tensor narrow = ids({2, 0, 2, 2}, DType::int32);
  for (const Tensor& at : {i, narrow}) {
    expect_linear("rows", [&](const Tensor& x) { return index_select(x, 0, at); }, {3, 4});
    expect_linear("middle", [&](const Tensor& x) { return index_select(x, -2, at); }, {2, 3, 2});
    expect_linear("columns", [&](const Tensor& x) { return index_select(x, 1, at); }, {2, 3});
    expect_linear("vector", [&](const Tensor& x) { return index_select(x, 0, at); }, {3});
  }
  expect_linear("every second index",
                [](const Tensor& x) {
                  return index_select(x, 0, slice(ids({1, 9, 0, 9, 1}), 0, 0, 5, 2));
                },
                {2, 3});
  const Tensor g = ids({0, 2, 2, 1, 1, 1}, {2, 3});
  expect_linear("gather", [&](const Tensor& x) { return gather(x, 1, g); }, {2, 3});
  expect_linear("gather rows", [&](const Tensor& x) { return gather(x, 0, g); }, {4, 3});
  expect_linear("gather a corner", [&](const Tensor& x) { return gather(x, 1, g); }, {5, 3});
  expect_linear("gather by a transposed index",
                [&](const Tensor& x) { return gather(x, -1, t(g)); }, {3, 4});
  expect_linear("embedding",
                [](const Tensor& x) {
                  return embedding(x, ids({1, 3, 3, 0}, {2, 2}));
                },
                {4, 3});
  expect_linear("embedding of one", [](const Tensor& x) { return embedding(x, scalar(2, int64)); },
                {4, 3});
  expect_linear("embedding, transposed ids",
                [](const Tensor& x) {
                  return embedding(x, t(ids({1, 3, 3, 0, 1, 2}, {2, 3})));
                },
                {4, 2});
}

TEST(Index, EveryAdditionHasTheGradientOfALinearFunction) {
  const Tensor i = ids({2, 0, 2});
  const Tensor zero = zeros({3, 4}, DType::float64);
  expect_linear("index_add to x",
                [&](const Tensor& x) {
                  return index_add(x, 0, i, zeros({3, 4}, x.dtype()));
                },
                {3, 4});
  expect_linear("index_add of src",
                [&](const Tensor& x) {
                  return index_add(zeros({4, 5}, x.dtype()), 0, i, x);
                },
                {3, 5});
  expect_linear("index_add of columns",
                [&](const Tensor& x) {
                  return index_add(zeros({2, 4}, x.dtype()), -1, i, x);
                },
                {2, 3});
  const Tensor g = ids({0, 2, 2, 1, 1, 1}, {2, 3});
  expect_linear("scatter_add to x",
                [&](const Tensor& x) {
                  return scatter_add(x, 1, g, ones({2, 3}, x.dtype()) * 0);
                },
                {2, 3});
  expect_linear("scatter_add of src",
                [&](const Tensor& x) {
                  return scatter_add(zeros({2, 3}, x.dtype()), 1, g, x);
                },
                {2, 3});
  expect_linear("scatter_add rows of a part of src",
                [&](const Tensor& x) {
                  return scatter_add(zeros({4, 3}, x.dtype()), 0, g, x);
                },
                {3, 5});
}

TEST(Index, case_EM_01_the_padding_row_gets_exactly_no_gradient) {
  Tensor w = leaf(counting(15), {5, 3});
  backward(embedding(w, ids({0, 1, 1, 2}), 0), Values(12, 1.0));
  EXPECT_THAT(values(sum(w.grad(), 1)), ElementsAre(0, 6, 3, 0, 0));
  w.zero_grad();
  const Tensor many = zeros({769}, int64);
  backward(embedding(w, many, 0), Values(size_t{769} * 3, 1.0));
  EXPECT_EQ(values(w.grad()), Values(15, 0.0));
  EXPECT_EQ(values(embedding(w, ids({0}), 0)), Values({1, -2, 3})) << "the forward reads it";
}

TEST(Index, case_EM_03_a_second_backward_adds) {
  Tensor w = leaf(counting(15), {5, 3});
  for (int pass = 0; pass < 2; ++pass) backward(embedding(w, ids({0, 1, 1, 2})), Values(12, 1.0));
  EXPECT_THAT(values(w.grad()), ElementsAre(2, 2, 2, 4, 4, 4, 2, 2, 2, 0, 0, 0, 0, 0, 0));
}

TEST(Index, case_EM_04_an_index_outside_is_an_error_and_nothing_is_written) {
  const Tensor w = zeros({4, 2});
  EXPECT_EQ(message_of<IndexError>([&] {
              embedding(w, ids({0, 1, 4, 2}, {2, 2}));
            }),
            "embedding: index 4 at position [1, 0]; it must be in [0, 4)");
  EXPECT_EQ(message_of<IndexError>([&] {
              embedding(w, ids({0, -1}));
            }),
            "embedding: index -1 at position [1]; it must be in [0, 4)");
  EXPECT_THAT(message_of<IndexError>([&] { embedding(w, scalar(9, int32)); }),
              HasSubstr("index 9 at position []"));
  const Tensor x = make({1, 2, 3, 4}, {4});
  EXPECT_THAT(message_of<IndexError>([&] {
                scatter_add(x, 0, ids({0, 4}), make({1, 1}, {2}));
              }),
              HasSubstr("index 4 at position [1]; it must be in [0, 4)"));
  EXPECT_THAT(values(x), ElementsAre(1, 2, 3, 4));
  EXPECT_THROW(gather(x, 0, ids({-1})), IndexError);
  EXPECT_THROW(index_select(x, 0, ids({4})), IndexError);
  EXPECT_THROW(index_add(x, 0, ids({-1}), make({1}, {1})), IndexError);
  EXPECT_THROW(embedding(w, ids({0}), 4), IndexError);
  EXPECT_THROW(embedding(zeros({0, 2}), ids({0})), IndexError);
  EXPECT_EQ(embedding(zeros({0, 2}), ids({})).shape(), Dims({0, 2}));
}

TEST(Index, ErrorsNameShapesAndDTypes) {
  const Tensor w = zeros({4, 2});
  EXPECT_EQ(message_of<DTypeError>([&] { embedding(w, tensor({1.})); }),
            "embedding: the index is float32; it must be int64 or int32");
  EXPECT_THAT(message_of<ShapeError>([&] { embedding(zeros({4}), ids({1})); }),
              HasSubstr("[rows, width]"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                index_select(w, 0, ids({1, 1}, {1, 2}));
              }),
              HasSubstr("vector"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                gather(w, 0, ids({1, 1, 1}, {1, 3}));
              }),
              HasSubstr("the index is [1, 3], the tensor is [4, 2]"));
  EXPECT_THAT(message_of<ShapeError>([&] { gather(w, 0, ids({1})); }), HasSubstr("[1]"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                scatter_add(w, 0, ids({1, 1}, {2, 1}), zeros({1, 2}));
              }),
              HasSubstr("what is added is [1, 2]"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                index_add(w, 0, ids({1}), zeros({2, 2}));
              }),
              HasSubstr("must be [1, 2]"));
  EXPECT_THAT(message_of<DTypeError>([&] {
                index_add(w, 0, ids({1}), zeros({1, 2}, DType::float64));
              }),
              HasSubstr("float64"));
  EXPECT_THROW(gather(w, 0, Tensor()), AutogradError);
}

TEST(Index, case_GS_01_repeated_indices_add) {
  Tensor x = leaf({.1}, {1});
  backward(index_select(x, 0, ids({0, 0})), {.2, .3});
  EXPECT_DOUBLE_EQ(x.grad().item(), .5);
  x.zero_grad();
  const Tensor y = index_select(x, 0, ids({0, 0}));
  select(y, 0, 0).backward();
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Index, case_GS_04_an_index_smaller_than_src) {
  Tensor src = leaf(Values(6, 1.0), {2, 3});
  const Tensor zero = zeros({2, 3}, DType::float64);
  for (int pass = 1; pass <= 2; ++pass) {
    const Tensor y = scatter_add(zero, 0, ids({0, 1}, {1, 2}), src);
    EXPECT_THAT(values(y), ElementsAre(1, 0, 0, 0, 1, 0));
    backward(y, {1, 2, 3, 4, 5, 6});
    EXPECT_THAT(values(src.grad()), ElementsAre(1 * pass, 5 * pass, 0, 0, 0, 0));
  }
  src.zero_grad();
  backward(scatter_add(zero, 0, ids({}, {0, 3}), src), {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values(src.grad()), Values(6, 0.0));
  EXPECT_EQ(src.grad().shape(), Dims({2, 3}));
}

// The split law: rows arrive in the order of the index, from what is there.
TEST(Index, MicroBatchesGiveTheBitsOfOneBatchWhateverTheThreads) {
  constexpr int64_t n = 48, width = 70, rows = 7;
  std::vector<float> noise;
  for (int i = 0; i < n * width; ++i)
    noise.push_back(static_cast<float>((i * 7919 % 1000) - 500) / 997.0F);
  Values which;
  for (int i = 0; i < n; ++i) which.push_back(i * 5 % 3 + i % 4);
  const Tensor dy = from_data(noise.data(), {n, width});
  const Tensor at = make(which, {n}, int64);
  const int threads = get_num_threads();
  std::vector<float> whole;
  for (int count : {1, 2, 3}) {
    set_num_threads(count);
    for (const std::vector<int64_t>& parts :
         std::vector<std::vector<int64_t>>{{48}, {24, 24}, {5, 17, 1, 25}}) {
      Tensor w = zeros({rows, width});
      w.set_requires_grad();
      int64_t from = 0;
      for (int64_t part : parts) {
        embedding(w, narrow(at, 0, from, part)).backward({.gradient = narrow(dy, 0, from, part)});
        from += part;
      }
      const auto g = w.grad().to_vector<float>();
      if (whole.empty()) whole = g;
      EXPECT_EQ(g, whole) << count << " threads, " << parts.size() << " parts";
    }
  }
  set_num_threads(threads);
}

// 1024 ones in bfloat16 stick at 256.
TEST(Index, ManyTermsOfOne16BitElementAreSummedInFloat32) {
  Tensor w = leaf(Values(2, 0.0), {1, 2}, DType::bfloat16);
  const Tensor many = zeros({1024}, int64);
  const auto dy = Values(2048, 1.0);
  backward(embedding(w, many), dy);
  EXPECT_THAT(values(w.grad()), ElementsAre(1024, 1024));
  w.zero_grad();
  backward(embedding(w * 1.0, many), dy);
  EXPECT_THAT(values(w.grad()), ElementsAre(1024, 1024)) << "through a value in between";
}

TEST(Index, LargeTablesAndEveryLayoutOfTheIndexAgreeWithALoop) {
  const Tensor x = make(counting(3000), {300, 10});
  Values which;
  for (int i = 0; i < 5000; ++i) which.push_back(i * 37 % 300);
  const Tensor at = make(which, {5000}, int64);
  const Values y = values(index_select(x, 0, at));
  for (size_t i = 0; i < 5000; ++i)
    for (size_t k = 0; k < 10; ++k)
      ASSERT_EQ(y[i * 10 + k], x.at({static_cast<int64_t>(which[i]), static_cast<int64_t>(k)}));
  EXPECT_EQ(values(gather(x, 0, expand(unsqueeze(at, 1), {5000, 10}))), y);
  EXPECT_EQ(values(gather(x, 0, repeat(unsqueeze(at, 1), {1, 10}))), y);
}

TEST(Index, IntegersAreAddedExactly) {
  const Tensor counts = index_add(zeros({3}, int64), 0, ids({2, 0, 2}), ones({3}, int64));
  EXPECT_THAT(values(counts), ElementsAre(1, 0, 2));
}

TEST(Index, AnIndexChangedBeforeBackwardIsAnError) {
  Tensor w = leaf(counting(6), {3, 2});
  const Tensor at = ids({0, 1});
  const Tensor y = embedding(w, at);
  at.storage().bump_version();
  EXPECT_THAT(message_of<AutogradError>([&] { backward(y, Values(4, 1.0)); }),
              HasSubstr("embedding"));
}

}  // namespace
}  // namespace accrue::testing::linear
