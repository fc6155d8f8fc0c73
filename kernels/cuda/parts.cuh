// Many tensors in one launch: a step of an optimizer, a norm over all gradients. Each is a Part of
// the launch, with blocks of its own, as many as its size alone asks for: so what else is in the
// launch does not show in its numbers.
//
//   Parts<Part> parts([&](const PartList<Part>& list, unsigned blocks) { LAUNCH(...); });
//   for (...) parts.add(part, blocks_for(part.n));
//   parts.launch();
//
// Parts travel as a kernel's arguments, which have 4 KB. Now read: optim_norm.cu, a user.
#pragma once
#include <functional>
#include <type_traits>
#include <utility>

#include <accrue/kernels/cuda/rows.cuh>

namespace accrue::kernels::cuda {

/// As many parts as fit into a kernel's arguments beside others of 256 bytes.
template <class Part>
struct PartList {
  static constexpr int kMost = static_cast<int>((4096 - 256) / (sizeof(Part) + sizeof(unsigned)));
  Part part[kMost];
  unsigned end[kMost];  ///< the first block that is not the part's any more
  int count = 0;

  /// What the calling thread belongs to: its number among the part's threads.
  struct Mine {
    const Part& part;
    long thread, threads;
  };
  __device__ Mine mine() const {
    int i = 0;
    unsigned first = 0;
    while (end[i] <= blockIdx.x) first = end[i++];
    return {part[i], static_cast<long>(blockIdx.x - first) * blockDim.x + threadIdx.x,
            static_cast<long>(end[i] - first) * blockDim.x};
  }
};

/// Collects parts, and calls launch(list, blocks) whenever a list is full and for what is left.
template <class Part>
class Parts {
 public:
  using Launch = std::function<void(const PartList<Part>& list, unsigned blocks)>;
  explicit Parts(Launch launch) : launch_(std::move(launch)) {}

  void add(const Part& part, unsigned blocks) {
    if (list_.count == list_.kMost) launch();
    list_.part[list_.count] = part;
    list_.end[list_.count++] = blocks_ += blocks;
  }
  void launch() {
    if (list_.count > 0) launch_(list_, blocks_);
    list_.count = 0;
    blocks_ = 0;
  }

 private:
  Launch launch_;
  PartList<Part> list_;
  unsigned blocks_ = 0;
};

/// f<C, X, Y>() for each of the kinds of operands that visit_operands() chooses among.
template <class F>
void for_each_kind(F&& f) {
  f.template operator()<float, DenseSource<float>, DenseTarget<float>>();
  f.template operator()<float, Source<float>, Target<float>>();
  f.template operator()<double, Source<double>, Target<double>>();
}
/// Whether it would choose the kind of X.
template <class X, class... Operands>
bool is_kind(DType computed, const Operands&... operands) {
  bool is = false;
  visit_operands(
      computed, [&]<class, class Chosen, class>() { is = std::is_same_v<X, Chosen>; }, operands...);
  return is;
}

/// Elements that a thread takes together.
template <class X>
inline constexpr int kPackOf = 1;
template <>
inline constexpr int kPackOf<DenseSource<float>> = 4;

/// A pack of a dense array, which may end in it.
template <int N, class T>
__device__ Pack<T, N> load_pack(const T* x, long i, long n) {
  if constexpr (N == 1)
    return {x[i]};
  else
    return DenseRowSource::Row{x, takes_vectors(x)}.load(i, n, T(0));
}
template <int N, class T>
__device__ void store_pack(T* x, long i, long n, const Pack<T, N>& v) {
  if constexpr (N == 1)
    x[i] = v[0];
  else
    DenseRowTarget::Row{x, Write::overwrite, takes_vectors(x)}.store(i, n, v);
}
/// A pack of an operand of either kind.
inline __device__ Pack<float, 4> load_pack(const DenseSource<float>& x, long i, long n) {
  return load_pack<4>(x.data, i, n);
}
template <class C>
__device__ Pack<C, 1> load_pack(const Source<C>& x, long i, long /*n*/) {
  return {x[i]};
}
inline __device__ void store_pack(const DenseTarget<float>& y, long i, long n,
                                  const Pack<float, 4>& v) {
  store_pack<4>(y.data, i, n, v);
}
template <class C>
__device__ void store_pack(const Target<C>& y, long i, long /*n*/, const Pack<C, 1>& v) {
  y.set(i, v[0]);
}

}  // namespace accrue::kernels::cuda
