#include <algorithm>
#include <cctype>
#include <string>
#include <tuple>
#include <vector>

#include "tests/simt/cases.h"
#include "tests/simt/support.h"

namespace {

using accrue::simt::Fault;
using accrue::simt::Report;

std::vector<BugCase> all_bugs() {
  std::vector<BugCase> all = memory_bugs();
  for (const auto& more : {order_bugs(), launch_bugs()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

class PlantedBug : public SimtTest,
                   public testing::WithParamInterface<std::tuple<BugCase, NamedSchedule>> {};

TEST_P(PlantedBug, IsCaughtAndNothingElseIsFound) {
  const auto& [bug, named] = GetParam();
  accrue::simt::set_schedule(named.schedule);
  accrue::simt::set_patience(100000);
  {
    const OnDevice<float> x(some_floats(Buffers::kCount)), y(Buffers::kCount);
    std::vector<int> indices(256);
    for (int i = 0; i < 256; ++i) indices[static_cast<size_t>(i)] = i % 7;
    const OnDevice<int> index(indices);
    bug.run({x.data(), y.data(), index.data()});
    cudaDeviceSynchronize();
  }
  const std::vector<Report> reports = accrue::simt::take_reports();
  const bool caught =
      std::any_of(reports.begin(), reports.end(),
                  [fault = bug.fault](const Report& r) { return r.fault == fault; });
  EXPECT_TRUE(caught) << "expected: " << accrue::simt::name_of(bug.fault);
  for (const Report& report : reports) {
    // What is read too early may not be set yet, and what fails to wait may race.
    const bool consequence = bug.fault == Fault::race ? report.fault == Fault::uninitialised
                                                      : report.fault == Fault::race;
    EXPECT_TRUE(consequence || report.fault == bug.fault) << report.text;
  }
  accrue::simt::set_patience(uint64_t{1} << 28);
}

std::string test_name(const testing::TestParamInfo<PlantedBug::ParamType>& parameter) {
  const auto& [bug, named] = parameter.param;
  std::string name = std::string(bug.name) + "_" + named.name;
  const auto is_other = [](unsigned char c) { return std::isalnum(c) == 0; };
  std::replace_if(name.begin(), name.end(), is_other, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Simt, PlantedBug,
                         testing::Combine(testing::ValuesIn(all_bugs()),
                                          testing::ValuesIn(all_schedules())),
                         test_name);

TEST(PlantedBugs, AreMoreThanFifty) { EXPECT_GE(all_bugs().size(), 50U); }

}  // namespace
