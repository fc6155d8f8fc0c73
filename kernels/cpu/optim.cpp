// The optimizers' updates: cut into pieces for the threads, and for gradients and parameters that
// are strided or 16-bit into chunks that are gathered, updated dense in cache, and scattered.
#include <accrue/kernels/cpu/optim_steps.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/walk.h>
#include <accrue/kernels/optim.h>
#include <accrue/kernels/store.h>

namespace accrue::kernels::cpu {
namespace {

constexpr int64_t kGrain = 1 << 14;  // fewest elements worth a thread
constexpr int64_t kChunk = 512;      // elements gathered at once

bool dense(const Dims& shape, const Dims& strides) {
  return layout::is_contiguous({shape, strides, 0});
}

template <class T>
T* data_of(const Dest& d) {
  return d.wanted() ? static_cast<T*>(d.view.data) : nullptr;
}
template <class T>
T* at(T* base, int64_t i) {
  return base ? base + i : nullptr;
}

// step(g, w, i, n) for stretches of the parameter, which begin at element i; g and w are dense.
template <class T, class Step>
void in_place(const ConstView& g, const View& w, const Step& step) {
  parallel_for(numel(w.shape), kGrain, [&](int64_t begin, int64_t end) {
    step(static_cast<const T*>(g.data) + begin, static_cast<T*>(w.data) + begin, begin,
         end - begin);
  });
}

// The same where g or w is strided.
template <class T, class Step>
void gathered(const ConstView& g, const View& w, const Step& step) {
  parallel_for(numel(w.shape), kGrain, [&](int64_t begin, int64_t end) {
    const auto* from = static_cast<const T*>(g.data);
    auto* to = static_cast<T*>(w.data);
    Walk at_g(g.shape, g.strides, begin), at_w(w.shape, w.strides, begin), back = at_w;
    T g_chunk[kChunk], w_chunk[kChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t n = std::min(kChunk, end - i);
      for (int64_t j = 0; j < n; ++j) g_chunk[j] = from[at_g.next()];
      for (int64_t j = 0; j < n; ++j) w_chunk[j] = to[at_w.next()];
      step(g_chunk, w_chunk, i, n);
      for (int64_t j = 0; j < n; ++j) store(to + back.next(), w_chunk[j], Write::overwrite);
    }
  });
}

// The same where w is 16-bit: what is updated is its master, in float.
template <class Half, class Step>
void with_master(const ConstView& g, const View& w, float* master, const Step& step) {
  parallel_for(numel(w.shape), kGrain, [&](int64_t begin, int64_t end) {
    const auto* from = static_cast<const float*>(g.data);
    auto* to = static_cast<Half*>(w.data);
    Walk at_g(g.shape, g.strides, begin), at_w(w.shape, w.strides, begin), back = at_w;
    float g_chunk[kChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t n = std::min(kChunk, end - i);
      for (int64_t j = 0; j < n; ++j) g_chunk[j] = from[at_g.next()];
      for (int64_t j = 0; j < n; ++j) {
        const Half now = to[at_w.next()];
        if (Half(master[i + j]).bits != now.bits) master[i + j] = now;
      }
      step(g_chunk, master + i, i, n);
      for (int64_t j = 0; j < n; ++j) store(to + back.next(), master[i + j], Write::overwrite);
    }
  });
}

// Chooses among the three; step is a generic lambda over float and double.
template <class Step>
void update(const ConstView& g, const Dest& w, const Dest& master, const Step& step) {
  visit_float(w.view.dtype, [&]<class T>() {
    if constexpr (is_16bit_float(dtype_of<T>())) {
      with_master<T>(g, w.view, data_of<float>(master), step);
    } else if (dense(g.shape, g.strides) && dense(w.view.shape, w.view.strides)) {
      in_place<T>(g, w.view, step);
    } else {
      gathered<T>(g, w.view, step);
    }
  });
}

}  // namespace

void sgd(const SgdStep& s, const SgdParameters& all) {
  for (const SgdParameter& p : all)
    update(p.g, p.w, p.master, [&]<class T>(const T* g, T* w, int64_t i, int64_t n) {
      step_run(s, SgdRun<T>{g, w, at(data_of<T>(p.momentum), i), n, p.first});
    });
}

void adam(const AdamStep& s, const AdamParameters& all) {
  for (const AdamParameter& p : all)
    update(p.g, p.w, p.master, [&]<class T>(const T* g, T* w, int64_t i, int64_t n) {
      step_run(s, AdamRun<T>{g, w, data_of<T>(p.m) + i, data_of<T>(p.v) + i,
                             at(data_of<T>(p.v_max), i), n, p.t, p.first});
    });
}

}  // namespace accrue::kernels::cpu
