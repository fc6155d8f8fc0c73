#include <csignal>

#include "tests/io/support.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <accrue/core/error.h>

#include <accrue/io/line_file.h>

namespace accrue::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LineFile : public ::testing::Test {
 protected:
  Folder folder;
  std::string path = folder / "lines";
  std::string part = path + ".part";
};

TEST_F(LineFile, TakesItsNameWhenItIsComplete) {
  io::LineFile file(path);
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(file.provisional_path(), part);
  file.append("one");
  file.append("");
  file.append("three");
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(read_file(part), "one\n\nthree\n");  // each line is there at once
  file.finish();
  EXPECT_FALSE(fs::exists(part));
  EXPECT_EQ(read_file(path), "one\n\nthree\n");
}

TEST_F(LineFile, WithoutFinishTheLinesStayUnderTheProvisionalName) {
  { io::LineFile(path).append("one"); }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(read_file(part), "one\n");
}

TEST_F(LineFile, AnOldResultStaysUntilTheNewOneIsComplete) {
  write_file(path, {'o', 'l', 'd'});
  write_file(part, {'l', 'e', 'f', 't', ' ', 'b', 'e', 'h', 'i', 'n', 'd'});
  io::LineFile file(path);
  EXPECT_EQ(read_file(part), "");
  file.append("new");
  EXPECT_EQ(read_file(path), "old");
  file.finish();
  EXPECT_EQ(read_file(path), "new\n");
}

TEST_F(LineFile, IsFinishedOnce) {
  io::LineFile file(path);
  file.finish();
  EXPECT_THAT(message_of<FileError>([&] { file.finish(); }), HasSubstr("finished already"));
  EXPECT_THAT(message_of<FileError>([&] { file.append("x"); }), HasSubstr("is finished"));
  EXPECT_EQ(read_file(path), "");
}

TEST_F(LineFile, TwoOfOneNameAreNotMixed) {
  io::LineFile first(path);
  first.append("first");
  EXPECT_THAT(message_of<FileError>([&] { io::LineFile second(path); }),
              AllOf(HasSubstr(part), HasSubstr("another program is writing it")));
  first.append("goes on");
  first.finish();
  EXPECT_EQ(read_file(path), "first\ngoes on\n");
  EXPECT_NO_THROW(io::LineFile third(path));
}

TEST_F(LineFile, SymlinksAndWhatIsNoFileAreRefused) {
  write_file(folder / "precious", {'k', 'e', 'e', 'p'});
  fs::create_symlink(folder / "precious", part);
  const auto text = [&] { return message_of<FileError>([&] { io::LineFile file(path); }); };
  EXPECT_THAT(text(), AllOf(HasSubstr("cannot create"), HasSubstr(part)));
  EXPECT_EQ(read_file(folder / "precious"), "keep");
  fs::remove(part);
  fs::create_directory(part);
  EXPECT_THAT(text(), HasSubstr(part));
  fs::remove(part);
  ASSERT_EQ(mkfifo(part.c_str(), 0600), 0);
  alarm(20);  // a writer that waits for a reader would wait for ever
  EXPECT_THAT(text(), HasSubstr(part));
  alarm(0);
}

TEST_F(LineFile, AFolderThatIsMissingAndOneOfTheResultsName) {
  const std::string far = folder / "no/such/lines";
  EXPECT_THAT(message_of<FileError>([&] { io::LineFile file(far); }),
              AllOf(HasSubstr(far), HasSubstr("No such file")));
  fs::create_directory(path);
  io::LineFile file(path);
  file.append("one");
  EXPECT_THAT(message_of<FileError>([&] { file.finish(); }), HasSubstr("cannot rename"));
  EXPECT_EQ(read_file(part), "one\n");
}

// A file-size limit stands for the full disk: write() takes a part of the line, then fails.
TEST_F(LineFile, AFullDiskIsOneErrorAndLeavesNoHalfLine) {
  EXPECT_EXIT(
      {
        std::signal(SIGXFSZ, SIG_IGN);
        io::LineFile file(path);
        rlimit limit{};
        limit.rlim_cur = limit.rlim_max = 100;
        setrlimit(RLIMIT_FSIZE, &limit);
        const std::string line(39, 'x');
        file.append(line);
        file.append(line);
        int errors = 0;
        for (int i = 0; i < 3; ++i) {
          try {
            file.append(line);
          } catch (const FileError& error) {
            if (++errors == 1) std::cerr << error.what() << std::endl;
          }
        }
        file.append("a short one fits");
        _exit(errors == 3 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "cannot write .*lines.part: File too large");
  const std::string line = std::string(39, 'x') + '\n';
  EXPECT_EQ(read_file(part), line + line + "a short one fits\n");
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(LineFile, FoldersAreMadeDeepAndOnce) {
  const std::string deep = folder / "a/b/c";
  io::make_folder(deep);
  io::make_folder(deep);
  EXPECT_TRUE(fs::is_directory(deep));
  write_file(folder / "file", {});
  EXPECT_THAT(message_of<FileError>([&] { io::make_folder(folder / "file/x"); }),
              AllOf(HasSubstr("cannot create the folder"), HasSubstr("file/x")));
  EXPECT_THAT(message_of<FileError>([&] { io::make_folder(folder / "file"); }),
              HasSubstr("cannot create the folder"));
}

}  // namespace
}  // namespace accrue::test
