// Attention on device cuda: against its definition in float64, against the CPU's, and laws.
#include <limits>

#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/layout.h>
#include <accrue/core/random.h>

#include <accrue/kernels/attention.h>

namespace accrue::testing {
namespace {

using kernels::AttentionParams;
using AttentionOnCuda = OnExecutor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Size {
  int64_t heads, l, s, e, ev;
};

Tensor random(const Dims& shape, uint64_t seed, DType t) {
  Generator generator(seed);
  return randn(shape, t, Device::cpu(), generator);
}

// q, k, v and dy.
std::vector<Tensor> operands(const Size& n, DType t) {
  return {random({n.heads, n.l, n.e}, 1, t), random({n.heads, n.s, n.e}, 2, t),
          random({n.heads, n.s, n.ev}, 3, t), random({n.heads, n.l, n.ev}, 4, t)};
}

Tensor copy_of(const Tensor& x) {
  return to_device(tensor(x.to_vector<double>(), x.shape(), x.dtype()), x.device());
}

ConstView view_of(const Tensor& x) { return x.defined() ? ConstView(x) : ConstView(); }

// [.., s] of [.., l, e] and so on.
Dims with_last(Dims shape, int64_t last) {
  shape[shape.size() - 1] = last;
  return shape;
}

// lse, which is no more exact than the scores, in the type that these are computed in.
Tensor as_computed(const Tensor& lse, DType t) {
  return tensor(lse.to_vector<double>(), lse.shape(), t == float64 ? float64 : float32);
}

// y, lse, dq, dk and dv for {q, k, v, dy} or {q, k, v, dy, mask}.
std::vector<Tensor> attend(const std::vector<Tensor>& in, const AttentionParams& p,
                           DType grads = float32) {
  const Tensor &q = in[0], &k = in[1], &v = in[2], &dy = in[3];
  const ConstView mask = in.size() > 4 ? view_of(in[4]) : ConstView();
  const DType t = q.dtype() == float64 ? float64 : grads;
  Dims rows = q.shape();
  rows.erase(rows.size() - 1);
  const Tensor y = empty(with_last(q.shape(), v.size(-1)), q.dtype(), q.device());
  const Tensor lse = empty(rows, float64, q.device());
  const Tensor dq = empty(q.shape(), t, q.device()), dk = empty(k.shape(), t, q.device());
  const Tensor dv = empty(v.shape(), t, q.device());
  kernels::attention(q, k, v, mask, p, into(y), into(lse));
  kernels::attention_grad(dy, q, k, v, mask, lse, p, into(dq), into(dk), into(dv));
  return {y, as_computed(lse, q.dtype()), dq, dk, dv};
}

Computation attention_of(const AttentionParams& p, DType grads = float32) {
  return [=](const std::vector<Tensor>& in) { return attend(in, p, grads); };
}

// The same by the formulas, in float64, of dense operands of three dimensions. added[..] is the
// mask as numbers, one for each score, or empty.
std::vector<std::vector<double>> by_definition(const std::vector<Tensor>& in,
                                               const std::vector<double>& added,
                                               const AttentionParams& p) {
  const auto q = in[0].to_vector<double>(), k = in[1].to_vector<double>();
  const auto v = in[2].to_vector<double>(), dy = in[3].to_vector<double>();
  const auto size = [&](size_t i, int d) { return static_cast<size_t>(in[i].size(d)); };
  const size_t heads = size(0, 0), l = size(0, 1), e = size(0, 2), s = size(1, 1), ev = size(2, 2);
  std::vector<double> y(heads * l * ev), lse(heads * l), dq(q.size()), dk(k.size()), dv(v.size());
  std::vector<double> w(s), g(s);
  for (size_t row = 0; row < heads * l; ++row) {
    const size_t head = row / l, i = row % l;
    double sum = 0;
    for (size_t j = 0; j < s; ++j) {
      double score = added.empty() ? 0 : added[row * s + j];
      for (size_t c = 0; c < e; ++c) score += p.scale * q[row * e + c] * k[(head * s + j) * e + c];
      w[j] = p.is_causal && j > i ? 0 : std::exp(score);
      sum += w[j];
    }
    lse[row] = std::log(sum);
    double mean = 0;
    const auto factor = [&](size_t j) {
      const bool dropped = p.bits.bits32(static_cast<int64_t>(row * s + j)) < p.dropout_p * 0x1p32;
      return p.dropout_p == 0 ? 1 : dropped ? 0 : 1 / (1 - p.dropout_p);
    };
    for (size_t j = 0; j < s; ++j) {
      w[j] = sum > 0 ? w[j] / sum : 0;
      g[j] = 0;
      for (size_t c = 0; c < ev; ++c) {
        y[row * ev + c] += factor(j) * w[j] * v[(head * s + j) * ev + c];
        dv[(head * s + j) * ev + c] += factor(j) * w[j] * dy[row * ev + c];
        g[j] += factor(j) * p.scale * dy[row * ev + c] * v[(head * s + j) * ev + c];
      }
      mean += w[j] * g[j];
    }
    for (size_t j = 0; j < s; ++j)
      for (size_t c = 0; c < e; ++c) {
        dq[row * e + c] += w[j] * (g[j] - mean) * k[(head * s + j) * e + c];
        dk[(head * s + j) * e + c] += w[j] * (g[j] - mean) * q[row * e + c];
      }
  }
  return {y, lse, dq, dk, dv};
}

// What device cuda makes of float64 operands is what the definition says.
void expect_definition(const std::vector<Tensor>& in, const std::vector<double>& added,
                       const AttentionParams& p, Device device) {
  const auto right = by_definition(in, added, p);
  std::vector<Tensor> there;
  for (const Tensor& x : in) there.push_back(to_device(x, device));
  const std::vector<Tensor> got = attend(there, p);
  for (size_t i = 0; i < right.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_near(got[i], tensor(right[i], got[i].shape(), float64), 200);
  }
}

std::vector<double> added_of(const Tensor& mask, const Dims& shape) {
  std::vector<double> added;
  for (double m : mask.alias(layout::expand(mask.layout(), shape)).to_vector<double>())
    added.push_back(mask.dtype() == DType::boolean ? (m != 0 ? 0 : -kInfinity) : m);
  return added;
}

// True but for some keys of every query, and for all of query 2.
Tensor seen(const Dims& shape) {
  std::vector<double> values;
  for (int64_t i = 0; i < numel(shape); ++i) {
    const bool row_2 =
        shape[shape.size() - 2] > 2 && i / shape.back() % shape[shape.size() - 2] == 2;
    values.push_back(row_2 || i % 7 == 3 || i % 5 == 1 ? 0 : 1);
  }
  return tensor(values, shape, DType::boolean);
}

TEST_F(AttentionOnCuda, IsItsDefinition) {
  for (const Size& n : {Size{1, 1, 1, 1, 1}, Size{2, 5, 33, 8, 33}, Size{1, 33, 5, 33, 8},
                        Size{1, 70, 70, 64, 65}, Size{1, 5, 70, 130, 1}, Size{1, 70, 1, 1, 130}}) {
    SCOPED_TRACE(::testing::Message() << n.l << " " << n.s << " " << n.e << " " << n.ev);
    for (const bool causal : {false, true})
      expect_definition(operands(n, float64), {}, {.scale = 0.3, .is_causal = causal}, device);
  }
}

TEST_F(AttentionOnCuda, IsItsDefinitionUnderMasksAndDropout) {
  const auto in = operands({2, 37, 45, 5, 6}, float64);
  const Dims shape = {2, 37, 45};
  for (const Tensor& mask :
       {seen({37, 45}), seen({2, 1, 45}), seen({37, 1}), random({2, 37, 45}, 9, float64)}) {
    auto with_mask = in;
    with_mask.push_back(mask.alias(layout::expand(mask.layout(), shape)));
    for (const bool causal : {false, true})
      for (const double dropout : {0.0, 0.3})
        expect_definition(with_mask, added_of(mask, shape),
                          {.scale = 0.4,
                           .is_causal = causal,
                           .dropout_p = dropout,
                           .bits = {.seed = 3, .call = 8}},
                          device);
  }
}

TEST_F(AttentionOnCuda, IsTheCpusForEverySize) {
  for (const Size& n : {Size{3, 1, 1, 1, 1}, Size{2, 5, 33, 8, 8}, Size{1, 33, 70, 33, 33},
                        Size{1, 70, 5, 64, 64}, Size{1, 5, 40, 8, 100}, Size{1, 70, 70, 64, 1},
                        Size{1, 1, 70, 130, 130}, Size{1, 70, 1, 1, 64}}) {
    SCOPED_TRACE(::testing::Message() << n.l << " " << n.s << " " << n.e << " " << n.ev);
    expect_as_on_cpu(operands(n, float32), attention_of({.scale = 0.2}), 6);
  }
}

TEST_F(AttentionOnCuda, IsTheCpusForEveryDType) {
  for (const DType t : {float64, DType::bfloat16, DType::float16})
    for (const DType grads : {float32, t})
      expect_as_on_cpu(operands({2, 9, 70, 8, 6}, t),
                       attention_of({.scale = 0.3, .is_causal = true}, grads), 8);
  // dy of another dtype than the rest
  auto in = operands({1, 9, 10, 8, 6}, DType::bfloat16);
  in[3] = random({1, 9, 6}, 4, float32);
  expect_as_on_cpu(in, attention_of({.scale = 0.3}), 8);
}

TEST_F(AttentionOnCuda, IsTheCpusUnderEveryMask) {
  bool causal = true;
  for (const Size& n : {Size{6, 5, 33, 8, 5}, Size{6, 33, 5, 3, 5}}) {
    for (const Tensor& mask :
         {seen({n.l, n.s}), seen({2, 1, 1, n.s}), random({n.l, n.s}, 9, float32),
          random({2, 3, n.l, n.s}, 9, float32), random({3, 1, n.s}, 9, DType::bfloat16)}) {
      auto in = operands(n, float32);
      in.push_back(mask);
      causal = !causal;
      expect_as_on_cpu(
          in,
          [&](const std::vector<Tensor>& x) {
            std::vector<Tensor> by_heads;
            for (size_t i = 0; i < 4; ++i)
              by_heads.push_back(
                  x[i].alias(layout::contiguous({2, 3, x[i].size(1), x[i].size(2)})));
            by_heads.push_back(x[4].alias(layout::expand(x[4].layout(), {2, 3, n.l, n.s})));
            return attend(by_heads, {.scale = 0.3, .is_causal = causal});
          },
          8);
    }
  }
}

TEST_F(AttentionOnCuda, AQueryThatSeesNothingGivesNothing) {
  const int64_t l = 40, s = 70;
  std::vector<double> masked(static_cast<size_t>(l * s), 0.0);
  for (size_t i = 0; i < masked.size(); ++i) masked[i] = i / 70 == 3 || i / 70 == 39 ? 0 : 1;
  for (const DType t : {float32, float64}) {
    auto in = operands({1, l, s, 4, 3}, t);
    in.push_back(tensor(masked, {1, l, s}, DType::boolean));
    under_every_schedule([&] {
      std::vector<Tensor> there;
      for (const Tensor& x : in) there.push_back(to_device(x, device));
      const auto got = attend(there, {.scale = 0.5});
      const auto y = got[0].to_vector<double>(), lse = got[1].to_vector<double>(),
                 dq = got[2].to_vector<double>();
      for (size_t i = 0; i < static_cast<size_t>(l); ++i) {
        const bool blind = i == 3 || i == 39;
        EXPECT_EQ(lse[i] == -kInfinity, blind);
        EXPECT_EQ(y[3 * i] == 0, blind);
        EXPECT_EQ(dq[4 * i] == 0, blind);
      }
    });
  }
}

// 1 / (1 - p) is 2 or 4, so that dropping rounds nothing.
TEST_F(AttentionOnCuda, DropsWhatTheCpuDrops) {
  for (const DType t : {float32, float64})
    for (const double p : {0.5, 0.75, 0.1, 1.0})
      expect_as_on_cpu(operands(p == 0.5 ? Size{1, 33, 70, 5, 8} : Size{3, 5, 7, 4, 3}, t),
                       attention_of({.scale = 0.3, .dropout_p = p, .bits = {.seed = 5, .call = 2}}),
                       8);
}

// [batch, length, heads, width] permuted, as a projection leaves them; results likewise.
TEST_F(AttentionOnCuda, TakesAnyStrides) {
  const int64_t l = 5, s = 33, e = 9, ev = 6;
  for (const DType t : {float32, DType::bfloat16, float64}) {
    for (const Dims& order : {Dims{0, 2, 1, 3}, Dims{0, 3, 2, 1}, Dims{3, 1, 0, 2}}) {
      if (t != float32 && order[0] == 0) continue;
      const Dims shapes[] = {{2, 3, l, e}, {2, 3, s, e}, {2, 3, s, ev}, {2, 3, l, ev}};
      const auto permuted = [&](const Tensor& x) {
        return x.alias(layout::permute(x.layout(), order));
      };
      const auto source = [&](const Dims& shape) {  // so that permuted it has this shape
        Dims from = shape;
        for (int d = 0; d < 4; ++d) from[static_cast<int>(order[d])] = shape[d];
        return from;
      };
      std::vector<Tensor> in;
      for (size_t i = 0; i < 4; ++i) in.push_back(random(source(shapes[i]), i, t));
      expect_as_on_cpu(
          in,
          [&](const std::vector<Tensor>& x) {
            const Device where = x[0].device();
            std::vector<Tensor> results;
            for (const Dims& shape : shapes) results.push_back(empty(source(shape), t, where));
            const Tensor q = permuted(x[0]), k = permuted(x[1]), v = permuted(x[2]),
                         dy = permuted(x[3]);
            const Tensor lse = empty({2, 3, l}, float64, where);
            const AttentionParams p = {.scale = 0.3, .is_causal = true};
            kernels::attention(q, k, v, {}, p, into(permuted(results[3])), into(lse));
            kernels::attention_grad(dy, q, k, v, {}, lse, p, into(permuted(results[0])),
                                    into(permuted(results[1])), into(permuted(results[2])));
            results.push_back(as_computed(lse, t));
            return results;
          },
          8);
    }
  }
}

TEST_F(AttentionOnCuda, AddsToWhatIsThereAndSkipsTheUnwanted) {
  const Size n = {2, 5, 33, 8, 5};
  for (const DType t : {float32, float64, DType::bfloat16}) {
    auto in = operands(n, t);
    for (const Dims& shape : {Dims{2, 5, 5}, Dims{2, 5, 8}, Dims{2, 33, 8}, Dims{2, 33, 5}})
      in.push_back(random(shape, in.size(), t));
    for (unsigned wanted = t == float32 ? 0 : 7; wanted < 8; ++wanted) {
      expect_as_on_cpu(
          in,
          [&](const std::vector<Tensor>& x) {
            std::vector<Tensor> out;
            for (size_t i = 4; i < 8; ++i) out.push_back(copy_of(x[i]));
            const Tensor lse = empty({n.heads, n.l}, float64, x[0].device());
            const AttentionParams p = {.scale = 0.3, .is_causal = true};
            const auto dest = [&](unsigned bit, const Tensor& d) {
              return (wanted >> bit & 1U) != 0 ? adding_to(d) : Dest();
            };
            kernels::attention(x[0], x[1], x[2], {}, p, adding_to(out[0]), into(lse));
            kernels::attention_grad(x[3], x[0], x[1], x[2], {}, lse, p, dest(0, out[1]),
                                    dest(1, out[2]), dest(2, out[3]));
            return out;
          },
          8);
    }
  }
}

TEST_F(AttentionOnCuda, OverNothingIsAsOnTheCpu) {
  for (const Size& n : {Size{0, 3, 4, 5, 6}, Size{2, 0, 4, 5, 6}, Size{2, 3, 0, 5, 6},
                        Size{2, 3, 4, 0, 6}, Size{2, 3, 4, 5, 0}, Size{2, 40, 40, 0, 0}}) {
    SCOPED_TRACE(::testing::Message() << n.heads << n.l << n.s << n.e << n.ev);
    for (const DType t : {float32, float64}) {
      auto in = operands(n, t);
      expect_as_on_cpu(in, attention_of({.scale = 0.3}), 4);
      in.push_back(seen({n.heads, n.l, n.s}));
      expect_as_on_cpu(in, attention_of({.scale = 0.3}), 4);
    }
  }
}

// Scores far beyond what e^x can hold, and digits that a large lse would swallow.
TEST_F(AttentionOnCuda, LargeScoresKeepTheirDigits) {
  auto in = operands({1, 9, 70, 4, 3}, float32);
  expect_as_on_cpu(in, attention_of({.scale = 300}), 8);
  in.push_back(full({1, 9, 70}, 5000));
  expect_as_on_cpu(in, attention_of({.scale = 1}), 8);
  in[4] = full({1, 9, 70}, -5000);
  expect_as_on_cpu(in, attention_of({.scale = 1}), 8);
}

// From one key of a thread to its next the score falls by less than 1, in all by more than e^x can
// hold: the first stays the largest.
TEST_F(AttentionOnCuda, FallingScoresAreMeasuredFromTheLargest) {
  auto in = operands({1, 1, 2000, 1, 1}, float32);
  std::vector<double> k;
  for (int group = 0; group < 125; ++group) k.insert(k.end(), 16, -0.9 * group);
  in[0] = ones({1, 1, 1});
  in[1] = tensor(k, {1, 2000, 1});
  expect_as_on_cpu(in, attention_of({.scale = 1}), 8);
}

TEST_F(AttentionOnCuda, NaNAndInfinityStayInTheirRow) {
  for (const double bad : {std::nan(""), kInfinity}) {
    std::vector<double> q(140, 0.5);
    q[132] = bad;  // row 66
    auto in = operands({1, 70, 70, 2, 3}, float32);
    in[0] = tensor(q, {1, 70, 2});
    in[1] = full({1, 70, 2}, 1);
    under_every_schedule([&] {
      std::vector<Tensor> there;
      for (const Tensor& x : in) there.push_back(to_device(x, device));
      const auto y = attend(there, {})[0].to_vector<double>();
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 3 == 66) << i;
    });
  }
}

TEST_F(AttentionOnCuda, NeitherTheScheduleNorTheBatchShows) {
  const auto in = operands({3, 70, 75, 33, 8}, float32);
  const AttentionParams p = {.scale = 0.3, .is_causal = true};
  std::vector<std::vector<double>> first;
  under_every_schedule([&] {
    std::vector<Tensor> there, one;
    for (const Tensor& x : in) {
      there.push_back(to_device(x, device));
      one.push_back(there.back().alias(layout::narrow(x.layout(), 0, 1, 1)));
    }
    const auto whole = attend(there, p), alone = attend(one, p);
    for (size_t i = 0; i < whole.size(); ++i) {
      const auto all = whole[i].to_vector<double>();
      if (first.size() == i) first.push_back(all);
      EXPECT_EQ(all, first[i]);
      const Tensor head = whole[i].alias(layout::narrow(whole[i].layout(), 0, 1, 1));
      EXPECT_EQ(alone[i].to_vector<double>(), head.to_vector<double>());
    }
  });
}

}  // namespace
}  // namespace accrue::testing
