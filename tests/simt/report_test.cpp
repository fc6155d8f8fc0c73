// What a report says: the kernel, the thread, the memory by name, and the lines of both accesses.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/simt/cases.h"
#include "tests/simt/support.h"
#include <gmock/gmock.h>

namespace {

using accrue::simt::take_reports;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::SizeIs;

class Reports : public SimtTest {
 protected:
  // The first report of a planted bug that names its fault.
  static std::string report_of(const std::vector<BugCase>& bugs, const std::string& name) {
    const OnDevice<float> x(some_floats(Buffers::kCount)), y(Buffers::kCount);
    const OnDevice<int> index(std::vector<int>(256, 3));
    accrue::simt::name_allocation(x.data(), "x");
    accrue::simt::name_allocation(y.data(), "y");
    std::string text = "no such bug";
    for (const BugCase& bug : bugs) {
      if (bug.name != name) continue;
      bug.run({x.data(), y.data(), index.data()});
      text = "no report";
      for (const auto& report : take_reports()) {
        if (report.fault == bug.fault && text == "no report") text = report.text;
      }
    }
    accrue::simt::reset();
    return text;
  }
};

TEST_F(Reports, OfAnOverrunNameTheAllocationAndTheDistance) {
  EXPECT_THAT(report_of(memory_bugs(), "one past the end"),
              AllOf(HasSubstr("out of bounds: reads 4 bytes of global memory\n"),
                    ContainsRegex("kernel   one_past_the_end <<<\\(8,1,1\\), \\(128,1,1\\), 0>>> "
                                  "from bugs_memory.cu:[0-9]+\n"),
                    HasSubstr("thread   thread (104,0,0) of block (7,0,0)\n"),
                    ContainsRegex("memory   allocation [0-9]+ 'x' of device 0 \\(4000 bytes\\), "
                                  "0 bytes past its end\n"),
                    ContainsRegex("at       bugs_memory.cu:[0-9]+ in one_past_the_end\n"),
                    HasSubstr("right    a predicate on the index")));
}

TEST_F(Reports, OfAnUnderrunNameTheAllocationBehind) {
  EXPECT_THAT(report_of(memory_bugs(), "before the begin"),
              AllOf(HasSubstr("writes 4 bytes of global memory\n"),
                    HasSubstr("'x' of device 0 (4000 bytes), 4 bytes before its begin\n")));
}

TEST_F(Reports, OfARaceNameTheVariableAndBothLines) {
  EXPECT_THAT(report_of(order_bugs(), "a missing barrier"),
              AllOf(HasSubstr("data race: "), HasSubstr(" of shared memory\n"),
                    ContainsRegex("memory   shared 's' \\(256 bytes\\), byte [0-9]+\n"),
                    ContainsRegex("write    thread \\([0-9]+,0,0\\) of block \\(0,0,0\\)\n"
                                  "           *at bugs_order.cu:14 in missing_barrier\n"),
                    ContainsRegex("read     thread \\([0-9]+,0,0\\) of block \\(0,0,0\\)\n"
                                  "           *at bugs_order.cu:15 in missing_barrier\n"),
                    HasSubstr("right    __syncthreads() between the two")));
}

TEST_F(Reports, OfBlocksThatRaceNameBothBlocks) {
  EXPECT_THAT(report_of(order_bugs(), "blocks that talk"),
              AllOf(HasSubstr("of block (0,0,0)"), HasSubstr("of block (1,0,0)"),
                    HasSubstr("'x' of device 0"), HasSubstr("blocks of one launch")));
}

TEST_F(Reports, OfAnAtomicNameTheKernelsLine) {
  EXPECT_THAT(report_of(memory_bugs(), "atomicAdd into a fresh buffer"),
              ContainsRegex("at       bugs_memory.cu:[0-9]+ in atomic_accumulate\n"));
}

TEST_F(Reports, FollowInlinedFunctionsToTheKernel) {
  EXPECT_THAT(
      report_of(memory_bugs(), "shared memory that nobody set"),
      AllOf(HasSubstr("reads 4 bytes of shared memory that nobody has written"),
            HasSubstr("shared 'part' (128 bytes), byte 8"), HasSubstr("in unset_partial_sums")));
}

TEST_F(Reports, OfABarrierNameBothBarriers) {
  EXPECT_THAT(report_of(order_bugs(), "two barriers for one"),
              AllOf(HasSubstr("threads of one block wait at different barriers"),
                    ContainsRegex("one      thread \\(0,0,0\\) .* at bugs_order.cu:[0-9]+\n"),
                    ContainsRegex("another  thread \\(32,0,0\\) .* at bugs_order.cu:[0-9]+\n")));
}

TEST_F(Reports, OfADeadlockSayWhoWaitsWhere) {
  EXPECT_THAT(report_of(order_bugs(), "a barrier against a shuffle"),
              AllOf(ContainsRegex("16 threads, .* in a barrier at bugs_order.cu:[0-9]+"),
                    ContainsRegex("16 threads, .* in __shfl_sync of lanes 0xffffffff at ")));
}

TEST_F(Reports, OfALocalArrayNameIndexAndType) {
  EXPECT_THAT(report_of(memory_bugs(), "index of a local array"),
              HasSubstr("index 4 of an array of type 'float [4]'"));
}

TEST_F(Reports, OfArithmeticShowTheNumbers) {
  EXPECT_THAT(report_of(memory_bugs(), "an index of int"), HasSubstr("69999 * 70000 is no 'int'"));
}

TEST_F(Reports, OfALaunchSayWhatCudaAllows) {
  EXPECT_THAT(report_of(launch_bugs(), "a block of 2048 threads"),
              AllOf(HasSubstr("invalid launch: touch: a block (2048,1,1) of 2048 threads"),
                    HasSubstr("right    at most 1024 threads")));
}

TEST_F(Reports, OfOverlapNameTheArguments) {
  EXPECT_THAT(report_of(launch_bugs(), "Restrict arguments that are one"),
              ContainsRegex("scaled: arguments 1 and 2 are both allocation [0-9]+ 'x'"));
}

TEST_F(Reports, ComeOnceForAPlace) {
  const OnDevice<float> unset(1000);
  controls::scale(unset.data(), 2, 1000, nullptr);
  EXPECT_THAT(take_reports(), SizeIs(1));
}

TEST_F(Reports, AreWrittenToStderrUnlessTurnedOff) {
  accrue::simt::set_echo(true);
  testing::internal::CaptureStderr();
  const OnDevice<float> unset(1);
  controls::scale(unset.data(), 2, 1, nullptr);
  const std::string printed = testing::internal::GetCapturedStderr();
  const auto reports = take_reports();
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(printed, "simt: " + reports[0].text);
}

std::string chapter() {
  std::ifstream file(ACCRUE_CUDA_CHAPTER);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number of an allocation depends on what ran before.
std::string without_numbers(std::string text) {
  for (size_t at = 0; (at = text.find("allocation ", at)) != std::string::npos;) {
    at += 11;
    size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    text.replace(at, end - at, "N");
  }
  return text;
}

TEST_F(Reports, OfTheBrokenKernelsAreThoseInTheChapter) {
  const std::string text = without_numbers(chapter());
  const int n = 100;
  for (const BrokenKernel& broken : broken_kernels()) {
    const OnDevice<float> x(some_floats(n)), y(n);
    accrue::simt::name_allocation(x.data(), "x");
    accrue::simt::name_allocation(y.data(), "y");
    broken.run(y.data(), x.data(), n);
    cudaDeviceSynchronize();
    const auto reports = take_reports();
    accrue::simt::reset();
    EXPECT_FALSE(reports.empty()) << broken.name;
    for (const auto& report : reports) {
      EXPECT_THAT(text, HasSubstr(without_numbers("simt: " + report.text))) << broken.name;
    }
  }
}

TEST_F(Reports, BrokenKernelsAreQuotedInTheChapter) {
  const std::string text = chapter();
  std::ifstream file(ACCRUE_BROKEN_KERNELS);
  std::string line, quoted;
  int kernels = 0;
  for (bool inside = false; std::getline(file, line);) {
    if (!line.starts_with("// [")) {
      if (inside) quoted += line + "\n";
      continue;
    }
    if (inside) {
      EXPECT_THAT(text, HasSubstr(quoted)) << line;
      ++kernels;
    }
    inside = !inside;
    quoted.clear();
  }
  EXPECT_EQ(kernels, 3);
}

}  // namespace
