// The `accrue` command from outside: exit codes, one sentence on stderr, no half-written results.
#include <algorithm>

#include "tests/tools/spawn.h"
#include "tests/tools/support.h"

#include <accrue/version.h>

namespace accrue::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

using Arguments = std::vector<std::string>;

class Accrue : public WithData {
 protected:
  Outcome run(const Arguments& arguments) { return Command(folder, arguments).wait(); }
  /// It ends with that code, has one line to say on stderr, and nothing on stdout.
  std::string refused(const Arguments& arguments, int code) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_THAT(o.err, StartsWith("accrue: "));
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    return o.err;
  }
};

TEST_F(Accrue, TrainsAndWritesItsMetrics) {
  const std::string out = folder / "runs/first";
  const Outcome o = run({"train", "--limit", "512", "--epochs", "1", "--out", out});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
  EXPECT_THAT(o.out, AllOf(HasSubstr("training mlp, 235146 parameters, on 512 images"),
                           HasSubstr("epoch 1/1 done"), HasSubstr("test accuracy"),
                           HasSubstr(out + "/metrics.jsonl")));
  int64_t tenths = 0;
  std::istringstream lines(o.out);
  for (std::string line; std::getline(lines, line);) tenths += line.starts_with("epoch 1/1 ");
  EXPECT_LE(tenths, 12);
  const Json end = lines_of(out + "/metrics.jsonl").back();
  EXPECT_EQ(end["event"], "end");
  EXPECT_GE(end["test_accuracy"], 0.0);
  EXPECT_LE(end["test_accuracy"], 1.0);
  for (const char* key : {"seconds", "samples_per_s", "peak_bytes"}) EXPECT_GT(end[key], 0) << key;
}

TEST_F(Accrue, EveryFlagReachesTheRun) {
  const std::string out = folder / "all";
  const Outcome o = run({"train",
                         "--data",
                         "fashion-mnist",
                         "--model",
                         "cnn",
                         "--micro-batch",
                         "16",
                         "--accumulate",
                         "2",
                         "--epochs",
                         "1",
                         "--lr",
                         "2e-3",
                         "--optimizer",
                         "sgd",
                         "--seed",
                         "18446744073709551615",
                         "--threads",
                         "2",
                         "--device",
                         "cpu",
                         "--limit",
                         "64",
                         "--out",
                         out});
  EXPECT_EQ(o.code, 0) << o.err;
  const Json start = lines_of(out + "/metrics.jsonl").front();
  EXPECT_EQ(start, Json({{"event", "start"},
                         {"data", "fashion-mnist"},
                         {"model", "cnn"},
                         {"micro_batch", 16},
                         {"accumulate", 2},
                         {"epochs", 1},
                         {"optimizer", "sgd"},
                         {"lr", 2e-3},
                         {"seed", 18446744073709551615U},
                         {"threads", 2},
                         {"device", "cpu"},
                         {"limit", 64}}));
}

TEST_F(Accrue, BadFlagsAreOneSentenceAndExitCode2) {
  struct Case {
    Arguments arguments;
    const char* text;
  };
  for (const Case& c :
       {Case{{}, "no command is given; it is train, splits or doctor"},
        Case{{"bogus"}, "bogus"},
        Case{{"--bogus"}, "--bogus"},
        Case{{"train", "--bogus"}, "--bogus"},
        Case{{"train", "extra"}, "extra"},
        Case{{"train", "doctor"}, "doctor"},
        Case{{"train", "--epochs"}, "--epochs"},
        Case{{"train", "--epochs", "0"}, "--epochs: 0; it must be 1 or more"},
        Case{{"train", "--epochs", "three"}, "--epochs: 'three'; it must be a whole number"},
        Case{{"train", "--epochs", "1.5"}, "--epochs: '1.5'; it must be a whole number"},
        Case{{"train", "--epochs", "3 "}, "--epochs: '3 '"},
        Case{{"train", "--epochs", ""}, "--epochs: ''"},
        Case{{"train", "--epochs", "99999999999999999999"}, "fits in 64 bits"},
        Case{{"train", "--epochs", "9223372036854775807"}, "it must be at most"},
        Case{{"train", "--micro-batch", "0"}, "--micro-batch: 0; it must be 1 or more"},
        Case{{"train", "--micro-batch", "-32"}, "--micro-batch: -32; it must be 1 or more"},
        Case{{"train", "--accumulate", "0"}, "--accumulate: 0; it must be 1 or more"},
        Case{{"train", "--lr", "nan"}, "--lr: nan; it must be a finite number"},
        Case{{"train", "--lr", "inf"}, "--lr: inf; it must be a finite number"},
        Case{{"train", "--lr", "-1"}, "--lr: -1; it must be a finite number, 0 or more"},
        Case{{"train", "--lr", "1e999"}, "--lr: '1e999'"},
        Case{{"train", "--lr", "fast"}, "--lr: 'fast'; it must be a number"},
        Case{{"train", "--seed", "-1"}, "--seed: '-1'; it must be a whole number, 0 or more"},
        Case{{"train", "--threads", "-1"}, "--threads: -1; it must be 1 to 1024, or 0"},
        Case{{"train", "--threads", "4294967297"}, "--threads: '4294967297'"},
        Case{{"train", "--limit", "-5"}, "--limit: -5; it must be 0 or more"},
        Case{{"train", "--data", "mnist"}, "--data: 'mnist' is unknown; it is fashion-mnist"},
        Case{{"train", "--model", "foo"}, "--model: 'foo' is unknown; it is mlp or cnn"},
        Case{{"train", "--model", "a\nb\x1b[31m"}, "--model: 'a?b?[31m' is unknown"},
        Case{{"train", "--optimizer", "foo"}, "'foo' is unknown; it is sgd, adam or adamw"},
        Case{{"train", "--device", "tpu"}, "device: 'tpu' is unknown; it is cpu, cuda"},
        Case{{"splits", "--batch", "0"}, "--batch: 0; it must be 1 or more"},
        Case{{"splits", "--batch", "1024"}, "--batch: 1024 samples; there are 600"},
        Case{{"splits", "--counts", "1,3"}, "--counts: 3 does not cut 128 samples"},
        Case{{"splits", "--counts", "1,x"}, "--counts: 'x'; it must be a whole number"},
        Case{{"splits", "--seconds", "nan"}, "--seconds: nan; it must be a finite number"}}) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(refused(c.arguments, 2), HasSubstr(c.text));
  }
}

TEST_F(Accrue, CudaSaysWhyNot) {
  const std::string doctor = run({"doctor"}).out;
  if (doctor.find("built, usable: ") != std::string::npos) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(doctor, AnyOf(HasSubstr("cuda      not built"), HasSubstr("built, not usable: ")));
  for (const char* command : {"train", "splits"})
    EXPECT_THAT(refused({command, "--device", "cuda"}, 2),
                AllOf(StartsWith("accrue: cuda: "), EndsWith("\n"),
                      AnyOf(HasSubstr("this build of accrue has no CUDA kernels; use the cpu"),
                            HasSubstr("none is usable here: "))));
}

TEST_F(Accrue, MissingDataBringsTheAptLine) {
  setenv("ACCRUE_DATA", "/nonexistent", 1);
  const std::string text = refused({"train"}, 1);
  const Outcome doctor = run({"doctor"});
  setenv("ACCRUE_DATA", data->path().c_str(), 1);
  EXPECT_EQ(text,
            "accrue: data: Fashion-MNIST is not in /nonexistent; install it: "
            "apt-get install dataset-fashion-mnist\n");
  EXPECT_EQ(doctor.code, 0);
  EXPECT_THAT(doctor.out, HasSubstr("apt-get install dataset-fashion-mnist"));
}

TEST_F(Accrue, DamagedDataIsOneSentence) {
  const Folder bad;
  write_data(bad);
  const std::string path = bad / "t10k-images-idx3-ubyte.gz";
  const std::string whole = read_file(path);
  setenv("ACCRUE_DATA", bad.path().c_str(), 1);
  write_file(path, Bytes(whole.begin(), whole.end() - 100));
  EXPECT_THAT(refused({"train", "--out", folder / "out"}, 1),
              AllOf(HasSubstr(path), HasSubstr("was cut")));
  Bytes flipped(whole.begin(), whole.end());
  flipped[flipped.size() / 3] ^= 4;
  write_file(path, flipped);
  EXPECT_THAT(refused({"train", "--out", folder / "out"}, 1), HasSubstr(path));
  setenv("ACCRUE_DATA", data->path().c_str(), 1);
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST_F(Accrue, AFullDiskIsOneSentenceAndNoResult) {
  const std::string out = folder / "full";
  Command command(folder, {"train", "--limit", "32", "--epochs", "3", "--out", out},
                  {.file_bytes = 500, .stdout_path = "/dev/null"});
  const Outcome o = command.wait();
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, AllOf(StartsWith("accrue: cannot write " + out), HasSubstr("File too large")));
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1);
  EXPECT_FALSE(fs::exists(out + "/metrics.jsonl"));
  EXPECT_EQ(lines_of(out + "/metrics.jsonl.part").front()["event"], "start");
}

TEST_F(Accrue, OutputThatCannotBeWrittenIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const Outcome o = Command(folder, {"doctor"}, {.stdout_path = "/dev/full"}).wait();
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err, "accrue: cannot write to standard output\n");
}

TEST_F(Accrue, FoldersThatCannotBeMadeAreNamed) {
  write_file(folder / "file", {});
  for (const std::string& out : {folder / "file", folder / "file/x"})
    EXPECT_THAT(refused({"train", "--limit", "32", "--epochs", "1", "--out", out}, 1),
                HasSubstr("cannot create the folder " + out));
}

TEST_F(Accrue, CtrlCStopsBetweenTwoMicroBatches) {
  const std::string out = folder / "stopped";
  for (const int number : {SIGINT, SIGTERM}) {
    Command command(folder, {"train", "--limit", "512", "--epochs", "1000000", "--out", out});
    ASSERT_TRUE(command.prints("epoch 2/1000000 "));
    command.signal(number);
    const Outcome o = command.wait();
    EXPECT_EQ(o.code, 130);
    EXPECT_THAT(o.err, MatchesRegex("accrue: interrupted in epoch [0-9]+ after [0-9]+ of 512 "
                                    "samples; the lines so far are in .*metrics.jsonl.part\n"));
    EXPECT_FALSE(fs::exists(out + "/metrics.jsonl"));
    const auto lines = lines_of(out + "/metrics.jsonl.part");
    ASSERT_GE(lines.size(), 2U);
    EXPECT_EQ(lines[0]["event"], "start");
    EXPECT_EQ(lines[1]["event"], "epoch");
  }
}

TEST_F(Accrue, TwoRunsInOneFolderAreNotMixed) {
  const std::string out = folder / "shared";
  const Arguments first = {"train", "--limit", "512", "--epochs", "1000000", "--out", out};
  Command command(folder, first);
  ASSERT_TRUE(command.prints("epoch 2/1000000 "));
  const Folder other;
  const Outcome o =
      Command(other, {"train", "--limit", "32", "--epochs", "1", "--out", out}).wait();
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("another program is writing it"));
  EXPECT_FALSE(fs::exists(out + "/metrics.jsonl"));
  command.signal(SIGINT);
  command.wait();
  EXPECT_EQ(lines_of(out + "/metrics.jsonl.part").front()["limit"], 512);
}

TEST_F(Accrue, DoctorSaysWhatThereIs) {
  const Outcome o = run({"doctor"});
  EXPECT_EQ(o.code, 0);
  EXPECT_THAT(o.out, StartsWith("accrue " ACCRUE_VERSION "\n"));
  for (const char* line : {"\ncpu ", "kernels chosen: ", "\nthreads ", "\ncuda ", "\ndata "})
    EXPECT_THAT(o.out, HasSubstr(line));
  EXPECT_THAT(o.out, HasSubstr("found in " + data->path()));
}

TEST_F(Accrue, DoctorNamesSettingsThatHaveNoEffect) {
  EXPECT_THAT(run({"doctor"}).out, Not(HasSubstr("wrong")));
  setenv("ACCRUE_CPU", "pentium", 1);
  setenv("ACCRUE_NUM_THREADS", "many", 1);
  const Outcome o = run({"doctor"});
  unsetenv("ACCRUE_CPU");
  unsetenv("ACCRUE_NUM_THREADS");
  EXPECT_EQ(o.code, 0);
  EXPECT_THAT(o.out,
              HasSubstr("ACCRUE_CPU is 'pentium', which is wrong: it must be avx3, avx2 or"));
  EXPECT_THAT(o.out,
              HasSubstr("ACCRUE_NUM_THREADS is 'many', which is wrong: it must be a number"));
}

TEST_F(Accrue, SplitsPrintsIdenticalBitsInEveryRow) {
  const Outcome o = run({"splits", "--batch", "64", "--counts", "1,2,8", "--seconds", "0"});
  EXPECT_EQ(o.code, 0) << o.err;
  size_t rows = 0;
  for (size_t at = 0; (at = o.out.find("0 (identical bits)", at)) != std::string::npos; ++at)
    ++rows;
  EXPECT_EQ(rows, 3U) << o.out;
}

TEST_F(Accrue, VersionAndHelp) {
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, ACCRUE_VERSION "\n");
  const Outcome help = run({"train", "--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* flag : {"--data", "--model", "--micro-batch", "--accumulate", "--epochs", "--lr",
                           "--optimizer", "--seed", "--threads", "--device", "--out", "--limit"})
    EXPECT_THAT(help.out, HasSubstr(flag));
}

}  // namespace
}  // namespace accrue::test
