#include <bit>

#include <accrue/kernels/cuda/rows.cuh>
#include <accrue/kernels/optim.h>

// A parameter is one row. Multiplies and adds are rounded one by one, in the order of the CPU's, so
// the results are the same bits.
namespace accrue::kernels::cuda {
namespace {

/// One element's step, as in optim.h: takes g and w, changes the state, returns the new w.
template <class T>
struct SgdRule {
  static constexpr int kStates = 1;  // momentum
  T lr, momentum, damped, decay, scale;
  bool decays, has_momentum, nesterov, first;

  SgdRule(const SgdStep& s, bool with_momentum)
      : lr(static_cast<T>(s.lr)),
        momentum(static_cast<T>(s.momentum)),
        damped(static_cast<T>(1 - s.dampening)),
        decay(static_cast<T>(s.weight_decay)),
        scale(static_cast<T>(s.grad_scale)),
        decays(s.weight_decay != 0),
        has_momentum(with_momentum),
        nesterov(s.nesterov),
        first(s.first) {}

  __device__ T operator()(T g, T w, T* state) const {
    T d = g * scale;
    if (decays) d = d + decay * w;
    if (has_momentum) {
      T& b = state[0];
      b = first ? d : momentum * b + damped * d;
      d = nesterov ? d + momentum * b : b;
    }
    return w - lr * d;
  }
};

template <class T>
struct AdamRule {
  static constexpr int kStates = 3;  // m, v, v_max
  T beta1, beta2, new1, new2, eps, decay, kept, scale, rate, root_scale;
  bool decays, decoupled, has_max, first;

  AdamRule(const AdamStep& s, bool with_max)
      : beta1(static_cast<T>(s.beta1)),
        beta2(static_cast<T>(s.beta2)),
        new1(static_cast<T>(1 - s.beta1)),
        new2(static_cast<T>(1 - s.beta2)),
        eps(static_cast<T>(s.eps)),
        decay(static_cast<T>(s.weight_decay)),
        kept(static_cast<T>(1 - s.lr * s.weight_decay)),
        scale(static_cast<T>(s.grad_scale)),
        rate(static_cast<T>(s.lr / (1 - std::pow(s.beta1, static_cast<double>(s.t))))),
        root_scale(static_cast<T>(1 / std::sqrt(1 - std::pow(s.beta2, static_cast<double>(s.t))))),
        decays(s.weight_decay != 0 && !s.decoupled),
        decoupled(s.decoupled),
        has_max(with_max),
        first(s.first) {}

  __device__ T operator()(T g, T w, T* state) const {
    T d = g * scale;
    if (decoupled) w = w * kept;
    if (decays) d = d + decay * w;
    const T new_m = new1 * d;
    const T new_v = new2 * (d * d);
    const T m = state[0] = first ? new_m : beta1 * state[0] + new_m;
    T v = state[1] = first ? new_v : beta2 * state[1] + new_v;
    if (has_max) v = state[2] = !first && state[2] > v ? state[2] : v;
    return w - rate * (m / (std::sqrt(v) * root_scale + eps));
  }
};

/// A pack of a dense array: of the state, of the master.
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

/// The value of a 16-bit parameter in full: the master's, unless somebody has changed the
/// parameter.
template <class T>
__device__ T master_value(T master, T w, DType dtype) {
  const auto as_float = static_cast<float>(master);
  const float rounded = dtype == DType::bfloat16 ? convert<float>(bfloat16(as_float))
                                                 : convert<float>(float16(as_float));
  const auto now = static_cast<float>(w);
  return std::bit_cast<uint32_t>(rounded) == std::bit_cast<uint32_t>(now) ? master : w;
}

template <class T, int N>
struct Arrays {
  T* state[N] = {};  ///< null if the step does not use it
  T* master = nullptr;
  DType dtype{};  ///< of the parameter
};

/// A thread takes a pack of elements through the whole step.
template <class T, class X, class Y, class Rule>
__global__ void update_kernel(Rule rule, X grad, X old, Y result, Arrays<T, Rule::kStates> in,
                              long n) {
  constexpr int N = X::kPack;
  constexpr int S = Rule::kStates;
  for (long i = N * thread_number(); i < n; i += N * thread_count()) {
    const Pack<T, N> g = grad.row(0).load(i, n, T(0));
    Pack<T, N> w = old.row(0).load(i, n, T(0));
    if (in.master) {
      const Pack<T, N> master = load_pack<N>(in.master, i, n);
#pragma unroll
      for (int j = 0; j < N; ++j) w[j] = master_value(master[j], w[j], in.dtype);
    }
    Pack<T, N> state[S] = {};
#pragma unroll
    for (int k = 0; k < S; ++k)
      if (in.state[k] && !rule.first) state[k] = load_pack<N>(in.state[k], i, n);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      T one[S];
#pragma unroll
      for (int k = 0; k < S; ++k) one[k] = state[k][j];
      w[j] = rule(g[j], w[j], one);
#pragma unroll
      for (int k = 0; k < S; ++k) state[k][j] = one[k];
    }
#pragma unroll
    for (int k = 0; k < S; ++k)
      if (in.state[k]) store_pack<N>(in.state[k], i, n, state[k]);
    if (in.master) store_pack<N>(in.master, i, n, w);
    result.row(0).store(i, n, w);
  }
}

template <template <class> class Rule, class Step>
void update(const char* name, const Step& step, const ConstView& g, const Dest& w,
            const Dest& master, std::initializer_list<Dest> state) {
  const long n = numel(w.view.shape);
  if (n == 0) return;
  const int rank = w.view.shape.size();
  const Launcher on(w.view.device);
  const ConstView old(w.view);
  const Dest result(w.view, Write::overwrite);
  visit_rows(
      w.view.dtype, 0, rank,
      [&]<class T, class X, class Y>() {
        Arrays<T, Rule<T>::kStates> in;
        int k = 0;
        for (const Dest& s : state)
          in.state[k++] = s.wanted() ? static_cast<T*>(s.view.data) : nullptr;
        if (is_16bit_float(w.view.dtype)) in.master = static_cast<T*>(master.view.data);
        in.dtype = w.view.dtype;
        on.check(
            LAUNCH((update_kernel<T, X, Y, Rule<T>>), blocks_for((n + X::kPack - 1) / X::kPack),
                   kThreads, 0, on.stream(), Rule<T>(step, in.state[k - 1] != nullptr),
                   X(g, 0, rank), X(old, 0, rank), Y(result, 0, rank), in, n),
            name);
      },
      g, old);
}

}  // namespace

void sgd(const SgdStep& s, const ConstView& g, const Dest& w, const Dest& momentum,
         const Dest& master) {
  update<SgdRule>("sgd", s, g, w, master, {momentum});
}

void adam(const AdamStep& s, const ConstView& g, const Dest& w, const Dest& m, const Dest& v,
          const Dest& v_max, const Dest& master) {
  update<AdamRule>("adam", s, g, w, master, {m, v, v_max});
}

}  // namespace accrue::kernels::cuda
