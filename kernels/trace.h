// Trace: hears every kernel that runs on this thread while it lives.
//
// Tests prove costs with it ("the second micro-step launches exactly the first's kernels, and no
// fill"); the benchmarks count launches and bytes with it.
#pragma once
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <accrue/kernels/dest.h>

namespace accrue {

/// A struct of operands: operands() is a tuple of them.
template <class T>
concept HasOperands = requires(const T& x) {
  x.operands();
};

}  // namespace accrue

namespace accrue::kernels {

class Trace {
 public:
  struct Call {
    std::string kernel;
    std::vector<Write> writes;  ///< one for each wanted destination
    int64_t bytes = 0;          ///< read and written, counting every operand once
    friend bool operator==(const Call&, const Call&) = default;
  };

  Trace() : outer_(current) { current = this; }
  ~Trace() { current = outer_; }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  const std::vector<Call>& calls() const { return calls_; }
  /// The kernels' names in the order they ran.
  std::vector<std::string> names() const;
  int64_t count(const std::string& kernel) const;
  int64_t bytes() const;

  /// Used by dispatch().
  template <class... Args>
  static void hear(const char* kernel, const Args&... args) {
    if (!current) [[likely]]
      return;
    Call call{.kernel = kernel, .writes = {}};
    (note(call, args), ...);
    current->calls_.push_back(std::move(call));
  }

 private:
  static void note(Call& call, const ConstView& read);
  static void note(Call& call, const Dest& dest);
  template <class Other>
  static void note(Call&, const Other&) {}
  template <HasOperands Several>
  static void note(Call& call, const Several& x) {
    std::apply([&](const auto&... each) { (note(call, each), ...); }, x.operands());
  }
  template <class Each>
  static void note(Call& call, const std::span<const Each>& list) {
    for (const Each& x : list) note(call, x);
  }

  static thread_local Trace* current;
  Trace* outer_;
  std::vector<Call> calls_;
};

}  // namespace accrue::kernels
