// LAUNCH under g++: packs the arguments of a kernel and hands it to the executor (launch.cpp).
// Restrict<T> is a type of its own here, so that a launch can see which parameters promise not to
// overlap. Now read: grid.h.
#pragma once
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

// Under nvcc an alias of `T* __restrict__`.
template <class T>
class Restrict {
 public:
  Restrict(T* pointer) : pointer_(pointer) {}  // NOLINT(google-explicit-constructor)
  operator T*() const { return pointer_; }     // NOLINT(google-explicit-constructor)

 private:
  T* pointer_;
};

namespace accrue::simt {

struct Site {
  const char* file = "";
  unsigned line = 0;
  // std::source_location is missing with clang 14; its builtins are not.
  static constexpr Site here(const char* file = __builtin_FILE(),
                             unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

struct KernelName {
  const char* name;
  const char* file;
  unsigned line;
};

// A pointer among the arguments: what is behind it, and what its type promises.
struct PointerArgument {
  const void* pointer;
  size_t position;
  bool writes;
  bool restricted;
};

// A kernel with its arguments, ready to be run by each thread.
class Call {
 public:
  virtual ~Call() = default;
  virtual void run() = 0;
  // Where the arguments lie: a kernel may read them like any other local variable.
  virtual const void* begin() const = 0;
  virtual size_t bytes() const = 0;
};

struct Launch {
  KernelName kernel;
  const void* function;
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  std::vector<PointerArgument> pointers;
};

// Checks the configuration and puts the launch on the stream; `call` is the executor's to delete.
cudaError_t submit(Launch launch, cudaStream_t stream, Call* call);

namespace detail {

template <class T>
void note_pointer(std::vector<PointerArgument>& list, size_t position, T* pointer) {
  list.push_back({pointer, position, !std::is_const_v<T>, false});
}
template <class T>
void note_pointer(std::vector<PointerArgument>& list, size_t position, Restrict<T> pointer) {
  list.push_back({static_cast<T*>(pointer), position, !std::is_const_v<T>, true});
}
template <class T>
requires(!std::is_pointer_v<T>) void note_pointer(std::vector<PointerArgument>&, size_t, const T&) {
}

template <class... P>
class PackedCall final : public Call {
 public:
  template <class... A>
  explicit PackedCall(void (*kernel)(P...), A&&... arguments)
      : kernel_(kernel), arguments_(static_cast<P>(arguments)...) {}

  // Each thread gets its own copies, made unseen by the checker.
  __attribute__((no_sanitize("thread"))) void run() override {
    run_with(std::index_sequence_for<P...>{});
  }
  const void* begin() const override { return &arguments_; }
  size_t bytes() const override { return sizeof arguments_; }

  std::vector<PointerArgument> pointers() const {
    std::vector<PointerArgument> list;
    note_all(list, std::index_sequence_for<P...>{});
    return list;
  }

 private:
  template <size_t... I>
  __attribute__((no_sanitize("thread"))) void run_with(std::index_sequence<I...>) {
    kernel_(std::get<I>(arguments_)...);
  }
  template <size_t... I>
  void note_all(std::vector<PointerArgument>& list, std::index_sequence<I...>) const {
    (note_pointer(list, I, std::get<I>(arguments_)), ...);
  }

  void (*kernel_)(P...);
  std::tuple<std::decay_t<P>...> arguments_;
};

}  // namespace detail

template <class... P, class... A>
cudaError_t launch(KernelName name, void (*kernel)(P...), dim3 grid, dim3 block,
                   size_t shared_bytes, cudaStream_t stream, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "as many arguments as the kernel has parameters");
  auto* call = new detail::PackedCall<P...>(kernel, std::forward<A>(arguments)...);
  submit({name, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, call->pointers()},
         stream, call);
  return cudaGetLastError();  // an earlier call's error too, as under nvcc
}

}  // namespace accrue::simt
