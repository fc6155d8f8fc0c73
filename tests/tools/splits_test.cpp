#include "tools/splits.h"

#include <sstream>

#include "tests/tools/support.h"

#include <accrue/core/error.h>

namespace accrue::test {
namespace {

using namespace accrue::tools;
using ::testing::HasSubstr;

class Splits : public WithData {};

TEST_F(Splits, EveryCutHasTheSameGradients) {
  for (const char* model : {"mlp", "cnn"}) {
    const SplitOptions options = {
        .model = model, .batch = 48, .counts = {1, 2, 3, 16, 48}, .seconds = 0};
    const auto rows = measure_splits(options);
    ASSERT_EQ(rows.size(), 5U);
    for (const SplitRow& row : rows) {
      EXPECT_EQ(row.micro_batch * row.count, 48);
      EXPECT_TRUE(row.identical) << model << " cut into " << row.count;
      EXPECT_EQ(row.largest_difference, 0);
      EXPECT_GT(row.samples_per_s, 0);
    }
    EXPECT_LT(rows.back().peak_bytes, rows.front().peak_bytes);
    std::ostringstream text;
    print_splits(options, rows, text);
    EXPECT_THAT(text.str(), HasSubstr("0 (identical bits)"));
  }
}

TEST_F(Splits, BadOptionsAreNamed) {
  struct Case {
    SplitOptions options;
    const char* text;
  };
  for (const Case& c : {Case{{.model = "foo"}, "--model: 'foo'"},
                        Case{{.batch = 0}, "--batch: 0; it must be 1 or more"},
                        Case{{.batch = 128'000}, "--batch: 128000 samples; there are 600"},
                        Case{{.batch = 128, .counts = {1, 3}}, "--counts: 3 does not cut 128"},
                        Case{{.counts = {0}}, "--counts: 0 does not cut"},
                        Case{{.counts = {}}, "--counts: none is given"},
                        Case{{.seconds = -1}, "--seconds: -1; it must be"},
                        Case{{.threads = -2}, "--threads: -2; it must be"}})
    EXPECT_THAT(message_of<ValueError>([&] { measure_splits(c.options); }), HasSubstr(c.text));
}

}  // namespace
}  // namespace accrue::test
