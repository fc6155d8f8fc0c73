// The table of autograd/grad_slot.h, row by row.
#include <gtest/gtest.h>

#include <accrue/core/factories.h>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/grad_slot.h>

namespace accrue {
namespace {

TensorSpec pair() { return {{2}, DType::float32, default_device()}; }

std::vector<double> values(const GradSlot& slot) { return slot.value().to_vector<double>(); }
const void* address(const GradSlot& slot) { return slot.value().view().data; }
using Values = std::vector<double>;

TEST(GradSlot, EmptyIntoOverwrites) {
  GradSlot slot;
  const Dest d = slot.into(pair());
  EXPECT_EQ(d.write, Write::overwrite);
  kernels::copy(tensor({1, 2}), d);
  EXPECT_TRUE(slot.holds());
  EXPECT_EQ(values(slot), (Values{1, 2}));
}

TEST(GradSlot, EmptyOntoFillsWithZeroThenAdds) {
  GradSlot slot;
  kernels::Trace trace;
  const Dest d = slot.onto(pair());
  EXPECT_EQ(d.write, Write::add);
  EXPECT_EQ(trace.names(), std::vector<std::string>{"fill"});
  EXPECT_EQ(values(slot), (Values{0, 0}));
}

TEST(GradSlot, EmptyAddBorrowsInAPassAndCopiesInALeaf) {
  const Tensor g = tensor({1, 2});
  GradSlot pass;
  pass.add(g, pair());
  EXPECT_EQ(address(pass), g.view().data);
  GradSlot leaf(GradSlot::Owner::leaf);
  leaf.add(g, pair());
  EXPECT_NE(address(leaf), g.view().data);
  EXPECT_EQ(values(leaf), (Values{1, 2}));
}

TEST(GradSlot, OwnedAddsInPlaceByEveryDoor) {
  GradSlot slot;
  kernels::copy(tensor({1, 2}), slot.into(pair()));
  const void* where = address(slot);
  const Dest again = slot.into(pair());
  EXPECT_EQ(again.write, Write::add);
  kernels::copy(tensor({10, 20}), again);
  kernels::Trace trace;
  const Dest on = slot.onto(pair());
  EXPECT_EQ(trace.count("fill"), 0);
  kernels::copy(tensor({100, 200}), on);
  slot.add(tensor({1000, 2000}), pair());
  EXPECT_EQ(address(slot), where);
  EXPECT_EQ(values(slot), (Values{1111, 2222}));
}

TEST(GradSlot, BorrowedIsAdoptedWhenTheLenderIsGone) {
  GradSlot slot;
  Tensor g = tensor({1, 2});
  const void* where = g.view().data;
  slot.add(g, pair());
  g = {};
  slot.add(tensor({10, 20}), pair());
  EXPECT_EQ(address(slot), where);
  EXPECT_EQ(values(slot), (Values{11, 22}));
}

TEST(GradSlot, BorrowedIsCopiedOnceWhileTheLenderReads) {
  GradSlot slot;
  const Tensor g = tensor({1, 2});
  slot.add(g, pair());
  slot.add(tensor({10, 20}), pair());
  const void* where = address(slot);
  EXPECT_NE(where, g.view().data);
  slot.add(tensor({100, 200}), pair());
  EXPECT_EQ(address(slot), where);
  EXPECT_EQ(values(slot), (Values{111, 222}));
  EXPECT_EQ(g.to_vector<double>(), (Values{1, 2}));
}

TEST(GradSlot, BorrowedViewOfALivingStorageIsCopied) {
  GradSlot slot;
  Tensor base = tensor({1, 2});
  slot.add(base.alias(base.layout()), pair());  // the view object is gone, the storage is not
  slot.add(tensor({10, 20}), pair());
  EXPECT_EQ(values(slot), (Values{11, 22}));
  EXPECT_EQ(base.to_vector<double>(), (Values{1, 2}));
}

TEST(GradSlot, BorrowedOverlappingElementsAreNeverAddedTo) {
  GradSlot slot;
  slot.add(scalar(1).alias(layout::expand(scalar(1).layout(), {2})), pair());
  slot.add(tensor({10, 20}), pair());
  EXPECT_EQ(values(slot), (Values{11, 21}));
}

TEST(GradSlot, AddSumsWhatTheGradientLacks) {
  GradSlot slot;
  slot.add(tensor({{1, 2}, {10, 20}}), pair());
  EXPECT_EQ(values(slot), (Values{11, 22}));
  slot.add(tensor({{1, 2}, {10, 20}}), pair());
  EXPECT_EQ(values(slot), (Values{22, 44}));
}

TEST(GradSlot, ResetKeepsALeafsMemoryAndForgetsItsContent) {
  GradSlot slot(GradSlot::Owner::leaf);
  slot.add(tensor({1, 2}), pair());
  const void* where = address(slot);
  kernels::Trace trace;
  slot.reset();
  EXPECT_TRUE(trace.calls().empty());
  EXPECT_FALSE(slot.holds());
  const Dest d = slot.into(pair());
  EXPECT_EQ(d.write, Write::overwrite);
  EXPECT_EQ(d.view.data, where);
}

TEST(GradSlot, BoundBufferIsWhereTheGradientLies) {
  GradSlot slot(GradSlot::Owner::leaf);
  const Tensor bucket = tensor({7, 7, 7, 7});
  slot.bind(bucket.alias(layout::narrow(bucket.layout(), 0, 1, 2)));
  EXPECT_FALSE(slot.holds());
  slot.add(tensor({1, 2}), pair());
  slot.add(tensor({1, 2}), pair());
  EXPECT_EQ(bucket.to_vector<double>(), (Values{7, 2, 4, 7}));
}

TEST(GradSlot, LeafMemoryIsCountedAsGradient) {
  const auto live = [] { return memory_stats(default_device()).of(MemoryKind::gradient).live; };
  const int64_t before = live();
  GradSlot slot(GradSlot::Owner::leaf);
  slot.add(tensor({1, 2}), pair());
  EXPECT_EQ(live() - before, 8);
  slot.release();
  EXPECT_EQ(live(), before);
}

TEST(GradSlot, SpoiledThrowsUntilReset) {
  GradSlot slot(GradSlot::Owner::leaf);
  slot.add(tensor({1, 2}), pair());
  slot.spoil();
  EXPECT_THROW(slot.value(), AutogradError);
  slot.reset();
  slot.add(tensor({3, 4}), pair());
  EXPECT_EQ(values(slot), (Values{3, 4}));
}

TEST(GradSink, UnwantedIsFalseAndItsDestIsNotWanted) {
  GradSink sink;
  EXPECT_FALSE(sink);
  EXPECT_FALSE(into(sink).wanted());
  EXPECT_FALSE(onto(sink).wanted());
  sink.add(tensor({1, 2}));  // nobody hears it
}

}  // namespace
}  // namespace accrue
