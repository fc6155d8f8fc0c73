// Runs the real `accrue` command: its exit code and what it printed.
#pragma once
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tests/io/support.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace accrue::test {

struct Outcome {
  int code = 0;  ///< of exit; the negative number of the signal that ended it
  std::string out, err;
};

class Command {
 public:
  struct Options {
    rlim_t file_bytes = RLIM_INFINITY;  ///< the largest file that may be written: a full disk
    std::string stdout_path = {};       ///< instead of a file that out() reads
  };
  Command(const Folder& folder, std::vector<std::string> arguments, const Options& options)
      : out_(folder / "stdout"), err_(folder / "stderr") {
    arguments.insert(arguments.begin(), ACCRUE_COMMAND);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    fs::remove(out_);  // what an earlier command printed
    fs::remove(err_);
    pid_ = fork();
    if (pid_ == 0) exec(argv.data(), options);
  }
  Command(const Folder& folder, std::vector<std::string> arguments)
      : Command(folder, std::move(arguments), Options{}) {}
  ~Command() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    wait();
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  std::string out() const { return read_file(out_); }
  void signal(int number) const { kill(pid_, number); }
  /// Waits until `text` was printed; false after a minute.
  bool prints(const std::string& text) const {
    for (int i = 0; i < 6000; ++i) {
      if (out().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  Outcome wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
            .out = out(),
            .err = read_file(err_)};
  }

 private:
  void exec(char* const* argv, const Options& options) const {
    const auto redirect = [](const std::string& path, int to) {
      dup2(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), to);
    };
    redirect(options.stdout_path.empty() ? out_ : options.stdout_path, STDOUT_FILENO);
    redirect(err_, STDERR_FILENO);
    std::signal(SIGINT, SIG_DFL);
    if (options.file_bytes != RLIM_INFINITY) {
      rlimit limit{};
      limit.rlim_cur = limit.rlim_max = options.file_bytes;
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execv(argv[0], argv);
    _exit(127);
  }

  std::string out_, err_;
  pid_t pid_ = -1;
};

}  // namespace accrue::test
