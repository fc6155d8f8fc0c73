// The one thread pool of the CPU kernels. parallel_for() cuts a range into contiguous pieces by a
// static rule, so which thread computes what never depends on timing, and the same thread meets the
// same rows from call to call. Implementation: parallel.cpp. Now read: gemm.h for its largest user.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

namespace accrue {

// How many threads a kernel may use, the caller's included. The start value is ACCRUE_NUM_THREADS,
// or the cores this process may run on. Throws ValueError if n < 1.
void set_num_threads(int n);
int get_num_threads();

namespace kernels::cpu {

// A borrowed `void(int64_t begin, int64_t end)`. It owns nothing and allocates nothing; it lives as
// long as the expression that made it, which is as long as parallel_for() needs.
class RangeBody {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, RangeBody>) RangeBody(F&& body)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_([](void* object, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int64_t);
};

inline int num_threads() { return get_num_threads(); }

// Runs body over [0, n) in at most num_threads() contiguous pieces of at least `grain` each and
// returns when all are done. One piece, a call from inside another region, or a pool that serves
// another thread right now: body(0, n) runs here. If pieces throw, the first piece's exception is
// rethrown after all have ended.
void parallel_for(int64_t n, int64_t grain, RangeBody body);

}  // namespace kernels::cpu
}  // namespace accrue
