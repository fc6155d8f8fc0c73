#include "tests/errors/catalogue.h"

#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accrue::test {

World::World() {
  manual_seed(5);
  a = randn({2, 3}).set_requires_grad();
  b = randn({2, 4}).set_requires_grad();
  (sum(a * a) + sum(b * b)).backward();
  plain = randn({2, 3});
  wide = expand(randn({1, 3}), {2, 3});
  cube = randn({2, 3, 4});
  none = zeros({2, 0});
  real64 = randn({2, 3}, DType::float64);
  whole = arange(3);
  flags = plain > 0;
  images = randn({1, 2, 4, 4});
  kernels = randn({4, 2, 3, 3});
  computed = tanh(a);
  layer = std::make_shared<nn::Linear>(3, 2);
  sgd = std::make_unique<optim::SGD>(layer->named_parameters(),
                                     optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
  sum((*layer)(plain)).backward();
  sgd->step();
}

namespace {

void write(std::ostream& out, const Tensor& x) {
  if (!x.defined()) {
    out << "absent\n";
    return;
  }
  out << x.dtype() << x.shape() << " version " << x.version() << std::hexfloat << ":";
  for (const double value : x.to_vector<double>()) out << ' ' << value;
  out << std::defaultfloat << '\n';
}

}  // namespace

std::string World::state() const {
  std::ostringstream out;
  for (const Tensor* x : {&a, &b, &plain, &wide, &cube, &none, &real64, &whole, &flags, &images,
                          &kernels, &computed}) {
    out << x->requires_grad() << ' ';
    write(out, *x);
    write(out, x->grad());
  }
  for (const auto& [name, value] : layer->named_parameters()) {
    out << name << ' ' << value.requires_grad() << ' ';
    write(out, value);
    write(out, value.grad());
  }
  for (const auto& [name, value] : sgd->state_dict()) {
    out << name << ' ';
    write(out, value);
  }
  out << layer->training() << grad_enabled() << get_num_threads() << ' ' << memory_limit()
      << " call " << default_generator().state().call << '\n'
      << Tape::of(computed).size() << ' ' << Tape::of(computed).saved_bytes();
  return out.str();
}

namespace {

using Catalogue = std::vector<WrongCall> (*)();

class Errors : public ::testing::TestWithParam<std::pair<const char*, Catalogue>> {};

void score(const WrongCall& row) {
  World world;
  const std::string before = world.state();
  const int64_t live = memory_stats(default_device()).total.live;
  std::string text;
  try {
    row.call(world);
    ADD_FAILURE() << "nothing was thrown";
    return;
  } catch (const std::exception& error) {
    text = error.what();
    EXPECT_TRUE(row.exactly(error)) << typeid(error).name();
  }
  ::testing::Test::RecordProperty(row.name,
                                  text);  // --gtest_output=xml:FILE: every message, to be read
  SCOPED_TRACE(text);
  EXPECT_TRUE(text.starts_with(std::string(row.begins) + ": ")) << "it must begin with the name";
  for (const char* value : row.shows)
    EXPECT_NE(text.find(value), std::string::npos) << "it must show " << value;
  EXPECT_NE(text.find(row.rule), std::string::npos) << "it must say: " << row.rule;
  EXPECT_LE(text.size(), 400U);
  EXPECT_EQ(world.state(), before) << "a refused call changes nothing";
  EXPECT_EQ(memory_stats(default_device()).total.live, live) << "a refused call keeps no memory";
}

TEST_P(Errors, NameShowAdviseAndChangeNothing) {
  for (const WrongCall& row : GetParam().second()) {
    SCOPED_TRACE(row.name);
    score(row);
  }
}

const std::pair<const char*, Catalogue> kCatalogues[] = {
    {"core", core_errors},         {"shapes", shape_errors}, {"operators", op_errors},
    {"autograd", autograd_errors}, {"nn", nn_errors},        {"optim", optim_errors},
    {"devices", device_errors}};

INSTANTIATE_TEST_SUITE_P(Catalogue, Errors, ::testing::ValuesIn(kCatalogues),
                         [](const auto& group) { return group.param.first; });

TEST(ErrorCatalogue, HasNamesOfItsOwnAndCoversTheInterface) {
  std::set<std::string> names;
  std::set<std::string> beginnings;
  size_t rows = 0;
  for (const auto& [group, catalogue] : kCatalogues)
    for (const WrongCall& row : catalogue()) {
      ++rows;
      EXPECT_TRUE(names.insert(row.name).second) << row.name << " comes twice";
      EXPECT_FALSE(row.shows.empty()) << row.name;
      EXPECT_NE(std::string(row.rule), "") << row.name;
      beginnings.insert(row.begins);
    }
  EXPECT_GE(rows, 120U);
  EXPECT_GE(beginnings.size(), 80U);
}

// A world that differs in one number, version, gradient or random call is seen to differ.
TEST(ErrorCatalogue, ItsWorldNoticesChanges) {
  const World reference;
  const std::string before = reference.state();
  const auto differs = [&](const std::function<void(World&)>& change) {
    World world;
    EXPECT_EQ(world.state(), before);
    change(world);
    return world.state() != before;
  };
  EXPECT_TRUE(differs([](World& w) { w.plain.data<float>()[2] += 1; }));
  EXPECT_TRUE(differs([](World& w) { w.whole.storage().bump_version(); }));
  EXPECT_TRUE(differs([](World& w) { w.a.zero_grad(); }));
  EXPECT_TRUE(differs([](World& w) { w.plain.set_requires_grad(); }));
  EXPECT_TRUE(differs([](World&) { randn({1}); }));
  EXPECT_TRUE(differs([](World& w) { w.sgd->step(); }));
  EXPECT_TRUE(differs([](World& w) { w.sgd->set_lr(0.2); }));
  EXPECT_TRUE(differs([](World& w) { sum(w.computed).backward(); }));
  EXPECT_TRUE(differs([](World& w) { w.layer->eval(); }));
}

}  // namespace
}  // namespace accrue::test
