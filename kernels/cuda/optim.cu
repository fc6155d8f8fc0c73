// The optimizers' updates, in one pass over memory: parameters of one kind (dense float32; other
// layouts and 16 bits; float64) are one launch, or few if they are many. Multiplies and adds are
// rounded one by one, in the order of the CPU's, so the results are the same bits.
#include <array>
#include <bit>

#include <accrue/kernels/cuda/parts.cuh>
#include <accrue/kernels/optim.h>

namespace accrue::kernels::cuda {
namespace {

/// One element's step, as in optim.h: takes g and w, changes the state, returns the new w. `Own` is
/// what differs between parameters.
template <class T>
struct SgdRule {
  static constexpr const char* kName = "sgd";
  static constexpr int kStates = 1;  // momentum
  T lr, momentum, damped, decay, scale;
  bool decays, nesterov;

  struct Own {
    bool has_momentum, first;
  };

  explicit SgdRule(const SgdStep& s)
      : lr(static_cast<T>(s.lr)),
        momentum(static_cast<T>(s.momentum)),
        damped(static_cast<T>(1 - s.dampening)),
        decay(static_cast<T>(s.weight_decay)),
        scale(static_cast<T>(s.grad_scale)),
        decays(s.weight_decay != 0),
        nesterov(s.nesterov) {}

  Own own(const SgdParameter& p) const { return {p.momentum.wanted(), p.first}; }
  static std::array<Dest, kStates> states(const SgdParameter& p) { return {p.momentum}; }

  __device__ T operator()(T g, T w, T* state, const Own& own) const {
    T d = g * scale;
    if (decays) d = d + decay * w;
    if (own.has_momentum) {
      T& b = state[0];
      b = own.first ? d : momentum * b + damped * d;
      d = nesterov ? d + momentum * b : b;
    }
    return w - lr * d;
  }
};

template <class T>
struct AdamRule {
  static constexpr const char* kName = "adam";
  static constexpr int kStates = 3;  // m, v, v_max
  T beta1, beta2, new1, new2, eps, decay, kept, scale;
  double lr, decayed1, decayed2;
  bool decays, decoupled;

  struct Own {
    T rate, root_scale;
    bool has_max, first;
  };

  explicit AdamRule(const AdamStep& s)
      : beta1(static_cast<T>(s.beta1)),
        beta2(static_cast<T>(s.beta2)),
        new1(static_cast<T>(1 - s.beta1)),
        new2(static_cast<T>(1 - s.beta2)),
        eps(static_cast<T>(s.eps)),
        decay(static_cast<T>(s.weight_decay)),
        kept(static_cast<T>(1 - s.lr * s.weight_decay)),
        scale(static_cast<T>(s.grad_scale)),
        lr(s.lr),
        decayed1(s.beta1),
        decayed2(s.beta2),
        decays(s.weight_decay != 0 && !s.decoupled),
        decoupled(s.decoupled) {}

  Own own(const AdamParameter& p) const {
    const auto t = static_cast<double>(p.t);
    return {static_cast<T>(lr / (1 - std::pow(decayed1, t))),
            static_cast<T>(1 / std::sqrt(1 - std::pow(decayed2, t))), p.v_max.wanted(), p.first};
  }
  static std::array<Dest, kStates> states(const AdamParameter& p) { return {p.m, p.v, p.v_max}; }

  __device__ T operator()(T g, T w, T* state, const Own& own) const {
    T d = g * scale;
    if (decoupled) w = w * kept;
    if (decays) d = d + decay * w;
    const T new_m = new1 * d;
    const T new_v = new2 * (d * d);
    const T m = state[0] = own.first ? new_m : beta1 * state[0] + new_m;
    T v = state[1] = own.first ? new_v : beta2 * state[1] + new_v;
    if (own.has_max) v = state[2] = !own.first && state[2] > v ? state[2] : v;
    return w - own.rate * (m / (std::sqrt(v) * own.root_scale + eps));
  }
};

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

template <class T, class X, class Y, class Rule>
struct Updated {
  X grad, old;
  Y result;
  T* state[Rule::kStates];  ///< null if the step does not use it
  T* master;
  DType dtype;  ///< of the parameter
  typename Rule::Own own;
  long n;
};

/// A thread takes a pack of elements through the whole step.
template <class T, class X, class Y, class Rule>
__global__ void update_kernel(const Rule rule,
                              const __grid_constant__ PartList<Updated<T, X, Y, Rule>> parts) {
  constexpr int N = kPackOf<X>;
  constexpr int S = Rule::kStates;
  const auto mine = parts.mine();
  const auto& p = mine.part;
  for (long i = N * mine.thread; i < p.n; i += N * mine.threads) {
    const Pack<T, N> g = load_pack(p.grad, i, p.n);
    Pack<T, N> w = load_pack(p.old, i, p.n);
    if (p.master) {
      const Pack<T, N> master = load_pack<N>(p.master, i, p.n);
#pragma unroll
      for (int j = 0; j < N; ++j) w[j] = master_value(master[j], w[j], p.dtype);
    }
    Pack<T, N> state[S] = {};
#pragma unroll
    for (int k = 0; k < S; ++k)
      if (p.state[k] && !p.own.first) state[k] = load_pack<N>(p.state[k], i, p.n);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      T one[S];
#pragma unroll
      for (int k = 0; k < S; ++k) one[k] = state[k][j];
      w[j] = rule(g[j], w[j], one, p.own);
#pragma unroll
      for (int k = 0; k < S; ++k) state[k][j] = one[k];
    }
#pragma unroll
    for (int k = 0; k < S; ++k)
      if (p.state[k]) store_pack<N>(p.state[k], i, p.n, state[k]);
    if (p.master) store_pack<N>(p.master, i, p.n, w);
    store_pack(p.result, i, p.n, w);
  }
}

template <class T>
T* data_of(const Dest& y) {
  return y.wanted() ? static_cast<T*>(y.view.data) : nullptr;
}

/// The parameters whose operands are of kind X.
template <class Rule, class T, class X, class Y, class Step, class Parameters>
void update_kind(const Step& step, const Parameters& all, const Launcher& on) {
  const Rule rule(step);
  using Part = Updated<T, X, Y, Rule>;
  Parts<Part> parts([&](const PartList<Part>& list, unsigned blocks) {
    on.check(LAUNCH((update_kernel<T, X, Y, Rule>), blocks, kThreads, 0, on.stream(), rule, list),
             Rule::kName);
  });
  for (const auto& p : all) {
    const View& w = p.w.view;
    const long n = numel(w.shape);
    if (n == 0 || !is_kind<X>(w.dtype, p.g, ConstView(w))) continue;
    Part part{X(p.g),
              X(ConstView(w)),
              Y(Dest(w, Write::overwrite)),
              {},
              data_of<T>(p.master),
              w.dtype,
              rule.own(p),
              n};
    int k = 0;
    for (const Dest& state : Rule::states(p)) part.state[k++] = data_of<T>(state);
    parts.add(part, blocks_for(n, kPackOf<X> * kThreads));
  }
  parts.launch();
}

template <template <class> class Rule, class Step, class Parameters>
void update(const Step& step, const Parameters& all) {
  const Launcher on(all.front().w.view.device);
  for_each_kind([&]<class T, class X, class Y>() { update_kind<Rule<T>, T, X, Y>(step, all, on); });
}

}  // namespace

void sgd(const SgdStep& s, const SgdParameters& all) { update<SgdRule>(s, all); }
void adam(const AdamStep& s, const AdamParameters& all) { update<AdamRule>(s, all); }

}  // namespace accrue::kernels::cuda
