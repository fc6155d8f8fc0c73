// main() of tests that run on both devices: here every tensor that names no device is made on
// device cuda, which is the executor's, and a test that ends with a report of it has failed.
//
// not_on_cuda.txt lists the tests that a plain run leaves out, each with the reason; with
// ACCRUE_SLOW in the environment those run that were too slow for it.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>

#include <accrue/core/device.h>
#include <accrue/core/error.h>
#include <accrue/core/stream.h>

#include <accrue/kernels/simt/control.h>
#include <accrue/kernels/split_invariant.h>

namespace accrue::testing {
namespace {

class Watch : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    simt::reset();
    simt::set_schedule({});
    set_default_device(Device::cuda());
    set_split_invariant(true);
    launches_ = simt::counts().launches;
  }
  void OnTestEnd(const ::testing::TestInfo&) override {
    try {
      synchronize(Device::cuda());
    } catch (const Error& error) {  // after a fault every call fails
      ADD_FAILURE() << error.what();
    }
    for (const simt::Report& report : simt::take_reports()) ADD_FAILURE() << report.text;
    with_kernels_ += simt::counts().launches > launches_;
  }
  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    std::cout << with_kernels_ << " tests ran kernels on device cuda\n";
  }

  uint64_t launches_ = 0;
  int with_kernels_ = 0;
};

bool matches(const std::string& name, const std::string& pattern) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                : name == pattern;
}

bool exists(const std::string& name) {
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k)
      if (matches(suite.name() + std::string(".") + suite.GetTestInfo(k)->name(), name))
        return true;
  }
  return false;
}

/// What a plain run leaves out, as a filter, and says why; the slow ones alone if `slow`. A name
/// that is no test's is an error of the list.
std::string filter_of(const std::string& program, bool slow) {
  std::ifstream list(ACCRUE_NOT_ON_CUDA);
  std::string names, line;
  while (std::getline(list, line)) {
    std::istringstream words(line);
    std::string whose, name, when, reason;
    words >> whose >> name >> when;
    std::getline(words >> std::ws, reason);
    if (whose != program || (slow && when != "slow")) continue;
    if (!exists(name) || reason.empty() || (when != "slow" && when != "never")) {
      std::cerr << "not_on_cuda.txt: " << line << ": no such test, or no reason\n";
      std::exit(2);
    }
    if (!slow) std::cout << "skipped: " << name << ": " << when << ", " << reason << '\n';
    names += ":" + name;
  }
  return slow ? names.substr(1) : "*" + (names.empty() ? "" : "-" + names.substr(1));
}

}  // namespace
}  // namespace accrue::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  ::testing::UnitTest::GetInstance()->listeners().Append(new accrue::testing::Watch);
  std::string& filter = ::testing::GTEST_FLAG(filter);
  if (filter == "*")
    filter = accrue::testing::filter_of(ACCRUE_PROGRAM, std::getenv("ACCRUE_SLOW") != nullptr);
  return RUN_ALL_TESTS();
}
