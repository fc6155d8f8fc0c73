// LineFile: a text file that grows by whole lines under a provisional name, and takes its real name
// only when it is complete. A reader of the real name never sees half a result.
#pragma once
#include <string>
#include <string_view>

namespace accrue::io {

class LineFile {
 public:
  /// Creates `path`.part, replacing one left by an earlier run. Throws FileError, also while
  /// another LineFile of this name lives, here or in another process.
  explicit LineFile(std::string path);
  /// Without finish(), the lines so far stay in `path`.part.
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Writes a line and its end, or nothing: after an error the file is cut back to whole lines.
  /// Throws FileError, when the disk is full for instance.
  void append(std::string_view line);
  /// Puts everything on the disk and gives the file its real name. Throws FileError.
  void finish();

  const std::string& path() const { return path_; }
  const std::string& provisional_path() const { return part_; }

 private:
  void claim() const;
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string part_;
  int file_ = -1;
  long long written_ = 0;
};

/// Makes a folder and those above it. Throws FileError.
void make_folder(const std::string& path);

}  // namespace accrue::io
