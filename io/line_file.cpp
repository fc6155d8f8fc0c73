#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <accrue/core/error.h>

#include <accrue/io/line_file.h>

namespace accrue::io {

LineFile::LineFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
  constexpr int owner_writes = 0644;
  // O_NONBLOCK: a FIFO of this name is then refused, and not waited for
  file_ =
      ::open(part_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, owner_writes);
  if (file_ < 0) fail("create");
  try {
    claim();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

// The lock lasts until finish() has renamed the file: who gets it afterwards holds a file that is
// not called `part_` any more, and must not touch it.
void LineFile::claim() const {
  struct stat ours {};
  if (::fstat(file_, &ours) != 0) fail("create");
  check<FileError>(S_ISREG(ours.st_mode), "cannot create ", part_, ": it is not a regular file");
  const bool locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  struct stat named {};
  const bool same = ::lstat(part_.c_str(), &named) == 0 && named.st_ino == ours.st_ino;
  check<FileError>(locked && same, "cannot create ", part_,
                   ": another program is writing it; give this one another folder");
  if (::ftruncate(file_, 0) != 0) fail("create");
}

LineFile::~LineFile() {
  if (file_ >= 0) ::close(file_);
}

void LineFile::fail(const char* what) const {
  detail::fail<FileError>("cannot ", what, " ", part_, ": ", std::strerror(errno));
}

void LineFile::append(std::string_view line) {
  check<FileError>(file_ >= 0, "cannot write ", path_, ": it is finished");
  std::string text(line);
  text += '\n';
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int reason = errno;
      if (done > 0 && ::ftruncate(file_, written_) == 0) ::lseek(file_, written_, SEEK_SET);
      errno = reason;
      fail("write");
    }
    done += static_cast<size_t>(n);
  }
  written_ += static_cast<long long>(text.size());
}

void LineFile::finish() {
  check<FileError>(file_ >= 0, "cannot finish ", path_, ": it is finished already");
  if (::fsync(file_) != 0 && errno != EINVAL) fail("write");
  if (::rename(part_.c_str(), path_.c_str()) != 0) fail("rename");
  if (::close(std::exchange(file_, -1)) != 0) fail("close");
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int directory =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  check<FileError>(!error, "cannot create the folder ", path, ": ", error.message());
}

}  // namespace accrue::io
