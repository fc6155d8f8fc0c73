#include "tools/progress.h"

#include <algorithm>
#include <sstream>

#include "tests/tools/support.h"

namespace accrue::test {
namespace {

using namespace accrue::tools;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

int64_t lines_in(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Progress, OneLineForEachTenthWhenNobodyWatches) {
  std::ostringstream out;
  ProgressLine line(out, false);
  for (int64_t epoch = 1; epoch <= 2; ++epoch) {
    for (int64_t done = 1; done <= 1000; ++done)
      line.show({.epoch = epoch, .epochs = 2, .done = done, .total = 1000, .samples_per_s = 500});
    line.line("epoch done");
  }
  EXPECT_EQ(lines_in(out.str()), 2 * (10 + 1));
  EXPECT_THAT(out.str(), Not(HasSubstr("\r")));
  EXPECT_THAT(out.str(), HasSubstr("epoch 1/2  10%"));
  EXPECT_THAT(out.str(),
              HasSubstr("ETA 2 s"));  // 1000 are left, at 500 a second
}

TEST(Progress, RewritesItsLineOnATerminalAndEndsIt) {
  std::ostringstream out;
  {
    ProgressLine line(out, true);
    line.show({.done = 1000,
               .total = 1000,
               .loss = 0.1234,
               .accuracy = 0.875,
               .samples_per_s = 123456,
               .peak_bytes = 12'300'000});
    EXPECT_THAT(out.str(), Not(HasSubstr("\n")));
  }
  EXPECT_THAT(out.str(), EndsWith("\n"));
  for (const char* part :
       {"\r", "100%", "0.1234", "87.5%", "123456 samples/s", "12.3 MB", "ETA 0 s"})
    EXPECT_THAT(out.str(), HasSubstr(part));
  EXPECT_LE(out.str().size(), 80U + 4U);  // it would not be rewritten where it wraps
}

TEST(Progress, NothingToDoShowsNothing) {
  std::ostringstream out;
  ProgressLine line(out, false);
  line.show({.done = 0, .total = 0});
  EXPECT_EQ(out.str(), "");
}

TEST(Progress, BytesForPeople) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.0 kB");
  EXPECT_EQ(human_bytes(1'250'000), "1.2 MB");
  EXPECT_EQ(human_bytes(3'000'000'000'000'000), "3000.0 TB");
}

}  // namespace
}  // namespace accrue::test
