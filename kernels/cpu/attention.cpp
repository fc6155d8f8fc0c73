// Attention by blocks of queries: their scores against all keys are one product, small enough to
// stay in cache, then rows of a softmax, then factors of the next product.
#include <algorithm>
#include <limits>
#include <optional>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/attention_head.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/row_math.h>

namespace accrue::kernels::cpu {
namespace {

template <class T>
class Attention {
 public:
  Attention(const ConstView& q, const ConstView& k, const ConstView& v, const ConstView& mask,
            const AttentionParams& p)
      : q_(q), k_(k), v_(v), mask_(mask), p_(p) {
    if (mask.data) mask_at_.emplace(mask.shape, mask.strides);
    // Scores of a block: about 128 KB; short blocks where a triangle of them is not needed.
    const int64_t fit = 32768 / std::max<int64_t>(1, keys());
    block_ = std::min(queries(), std::clamp<int64_t>(fit, 28, p.is_causal ? 56 : 112));
  }

  void forward(const Dest& y, const Dest& lse) const {
    const int64_t blocks = block_ == 0 ? 0 : ceil_div(queries(), block_);
    const int64_t grain = ceil_div(kWorthAThread, 1 + block_ * keys() * (q_.cols() + v_.cols()));
    parallel_for(q_.count() * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t head = i / blocks, first = i % blocks * block_;
        forward_block(head, first, std::min(block_, queries() - first), y,
                      static_cast<double*>(lse.view.data) + head * queries());
      }
    });
  }

  void backward(const ConstView& dy_view, const ConstView& lse, const Dest& dq, const Dest& dk,
                const Dest& dv) const {
    const HeadReader dy(dy_view);
    const int64_t work = 1 + queries() * keys() * (q_.cols() + v_.cols()) * 2;
    parallel_for(q_.count(), ceil_div(kWorthAThread, work), [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) {
        backward_head(head, dy, static_cast<const double*>(lse.data) + head * queries(), dq, dk,
                      dv);
      }
    });
  }

 private:
  static constexpr int64_t kWorthAThread = 400'000;  // multiply-adds

  int64_t queries() const { return q_.rows(); }
  int64_t keys() const { return k_.rows(); }
  // How many keys query i may see, the mask aside.
  int64_t visible(int64_t i) const { return p_.is_causal ? std::min(keys(), i + 1) : keys(); }
  int64_t index(int64_t head, int64_t row) const { return (head * queries() + row) * keys(); }

  static void multiply(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b,
                       Matrix<T> c, Start start) {
    gemm(Gemm<T, T>{.m = m, .n = n, .k = k, .a = a, .b = b, .c = c, .start = start});
  }
  static Matrix<const T> transposed(Matrix<const T> a) { return {a.data, a.col, a.row}; }

  // scores[i, j] of `rows` queries from `first` on, with rows of `n`. `scaled` is room for them.
  void make_scores(int64_t head, int64_t first, int64_t rows, int64_t n, Matrix<const T> k,
                   T* scaled, T* scores) const {
    q_.copy(head, first, rows, p_.scale, scaled);
    multiply(rows, n, q_.cols(), {scaled, q_.cols(), 1}, transposed(k), {scores, n, 1},
             Start::zero);
    for (int64_t i = 0; mask_.data && i < rows; ++i) {
      add_mask(mask_, *mask_at_, head, first + i, visible(first + i), scores + i * n);
    }
  }

  void forward_block(int64_t head, int64_t first, int64_t rows, const Dest& y, double* lse) const {
    const int64_t n = visible(first + rows - 1), cols = v_.cols();
    const int64_t y_size = y.view.dtype == dtype_of<T>() ? 0 : rows * cols;
    Arrays<T> arrays(rows * q_.cols() + rows * n + keys() + y_size + k_.template buffer_size<T>() +
                     v_.template buffer_size<T>());
    const Matrix<const T> k = k_.matrix(head, arrays.take(k_.template buffer_size<T>()));
    const Matrix<const T> v = v_.matrix(head, arrays.take(v_.template buffer_size<T>()));
    T* const scaled = arrays.take(rows * q_.cols());
    T* const scores = arrays.take(rows * n);
    T* const powers = arrays.take(keys());
    make_scores(head, first, rows, n, k, scaled, scores);
    for (int64_t i = 0; i < rows; ++i) {
      T* row = scores + i * n;
      const int64_t seen = visible(first + i);
      const double log_sum = math_.logsumexp(row, seen, powers);
      lse[first + i] = log_sum;
      const T share = log_sum == -kInfinity ? T(0) : static_cast<T>(1 / math_.sum(powers, seen));
      for (int64_t j = 0; j < seen; ++j) row[j] = powers[j] * share;
      if (p_.dropout_p > 0) drop(row, seen, index(head, first + i), p_, row);
      std::fill(row + seen, row + n, T(0));
    }
    const HeadWriter<T> out(y, head, first, rows, arrays.take(y_size));
    multiply(rows, cols, n, {scores, n, 1}, v, out.matrix(), Start::old);
    out.finish();
  }

  void backward_head(int64_t head, const HeadReader& dy_heads, const double* lse, const Dest& dq,
                     const Dest& dk, const Dest& dv) const {
    const auto size = [](const Dest& d, int64_t elements) {
      return d.wanted() && d.view.dtype != dtype_of<T>() ? elements : 0;
    };
    const int64_t l = queries(), s = keys(), e = q_.cols(), ev = v_.cols();
    const int64_t scores_size = block_ * s, dropped_size = p_.dropout_p > 0 ? scores_size : 0;
    Arrays<T> arrays(q_.template buffer_size<T>() + k_.template buffer_size<T>() +
                     v_.template buffer_size<T>() + dy_heads.template buffer_size<T>() +
                     size(dq, l * e) + size(dk, s * e) + size(dv, s * ev) + block_ * (e + ev) +
                     2 * scores_size + dropped_size);
    const Matrix<const T> q = q_.matrix(head, arrays.take(q_.template buffer_size<T>()));
    const Matrix<const T> k = k_.matrix(head, arrays.take(k_.template buffer_size<T>()));
    const Matrix<const T> v = v_.matrix(head, arrays.take(v_.template buffer_size<T>()));
    const Matrix<const T> dy =
        dy_heads.matrix(head, arrays.take(dy_heads.template buffer_size<T>()));
    std::optional<HeadWriter<T>> to_q, to_k, to_v;
    if (dq.wanted()) to_q.emplace(dq, head, 0, l, arrays.take(size(dq, l * e)));
    if (dk.wanted()) to_k.emplace(dk, head, 0, s, arrays.take(size(dk, s * e)));
    if (dv.wanted()) to_v.emplace(dv, head, 0, s, arrays.take(size(dv, s * ev)));
    T* const scaled_q = arrays.take(block_ * e);
    T* const scaled_dy = arrays.take(block_ * ev);
    T* const weights = arrays.take(scores_size);
    T* const ds = arrays.take(scores_size);
    T* const dropped = p_.dropout_p > 0 ? arrays.take(scores_size) : weights;
    for (int64_t first = 0; first < l; first += block_) {
      const int64_t rows = std::min(block_, l - first), n = visible(first + rows - 1);
      make_scores(head, first, rows, n, k, scaled_q, weights);
      for (int64_t i = 0; i < rows; ++i) {
        T* row = weights + i * n;
        const int64_t seen = lse[first + i] == -kInfinity ? 0 : visible(first + i);
        math_.exp_minus(row, Split<T>(lse[first + i]), T(1), row, seen);
        std::fill(row + seen, row + n, T(0));
        if (p_.dropout_p > 0) drop(row, n, index(head, first + i), p_, dropped + i * n);
      }
      const auto rows_of = [first](Matrix<const T> x) {
        return Matrix<const T>{x.data + first * x.row, x.row, x.col};
      };
      if (to_v) {
        multiply(n, ev, rows, transposed({dropped, n, 1}), rows_of(dy), to_v->matrix(), Start::old);
      }
      if (!to_q && !to_k) continue;
      dy_heads.copy(head, first, rows, p_.scale, scaled_dy);
      multiply(rows, n, ev, {scaled_dy, ev, 1}, transposed(v), {ds, n, 1}, Start::zero);
      for (int64_t i = 0; i < rows; ++i) {
        T* row = ds + i * n;
        const int64_t seen = lse[first + i] == -kInfinity ? 0 : visible(first + i);
        if (p_.dropout_p > 0) drop(row, seen, index(head, first + i), p_, row);
        math_.softmax_grad(row, weights + i * n, row, seen);
        std::fill(row + seen, row + n, T(0));
      }
      if (to_q) {
        const Matrix<T> to = {to_q->matrix().data + first * to_q->matrix().row, to_q->matrix().row,
                              to_q->matrix().col};
        multiply(rows, e, n, {ds, n, 1}, k, to, Start::old);
      }
      if (to_k) {
        multiply(n, e, rows, transposed({ds, n, 1}), rows_of(q), to_k->matrix(), Start::old);
      }
    }
    for (const auto* writer : {&to_q, &to_k, &to_v}) {
      if (*writer) (*writer)->finish();
    }
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  const RowMath<T>& math_ = row_math<T>();
  HeadReader q_, k_, v_;
  ConstView mask_;
  std::optional<Heads> mask_at_;
  AttentionParams p_;
  int64_t block_ = 0;
};

}  // namespace

void attention(const ConstView& q, const ConstView& k, const ConstView& v, const ConstView& mask,
               const AttentionParams& p, const Dest& y, const Dest& lse) {
  visit_compute(q.dtype, [&]<class T>() { Attention<T>(q, k, v, mask, p).forward(y, lse); });
}

void attention_grad(const ConstView& dy, const ConstView& q, const ConstView& k, const ConstView& v,
                    const ConstView& mask, const ConstView& lse, const AttentionParams& p,
                    const Dest& dq, const Dest& dk, const Dest& dv) {
  visit_compute(q.dtype,
                [&]<class T>() { Attention<T>(q, k, v, mask, p).backward(dy, lse, dq, dk, dv); });
}

}  // namespace accrue::kernels::cpu
