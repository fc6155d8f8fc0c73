#include "tests/ops/laws.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>

#include <accrue/core/factories.h>
#include <accrue/core/memory.h>
#include <accrue/core/random.h>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/anomaly.h>
#include <accrue/autograd/grad.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/gradcheck.h>
#include <accrue/autograd/ops.h>

namespace accrue::testing {
namespace {

std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

Tensor from(const std::vector<double>& v, const Dims& shape, DType dtype,
            Device device = default_device()) {
  return tensor(std::span<const double>(v), shape, dtype, device);
}

/// Away from multiples of 1/4.
double away(double x) {
  const double nearest = std::round(x * 4) / 4;
  return std::abs(x - nearest) < 0.02 ? nearest + 0.03 : x;
}

std::vector<double> numbers_for(const Input& x, const Dims& shape, Numbers numbers,
                                std::mt19937& bits) {
  const auto n = static_cast<size_t>(numel(shape));
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(bits);
  };
  const auto whole = [&](int64_t low, int64_t high) {
    return static_cast<double>(std::uniform_int_distribution<int64_t>(low, high)(bits));
  };
  std::vector<double> v(n);
  if (x.kind == Kind::distinct && n < 2000 && numbers == Numbers::random) {
    std::iota(v.begin(), v.end(), 0.0);
    std::shuffle(v.begin(), v.end(), bits);
    for (double& a : v) a = 0.0137 * (a - static_cast<double>(n) / 2) + 0.003;
    return v;
  }
  for (double& a : v) {
    switch (x.kind) {
      case Kind::boolean:
        a = whole(0, 1);
        break;
      case Kind::index:
        a = whole(0, x.bound - 1);
        break;
      case Kind::positive:
        a = numbers == Numbers::whole ? std::exp2(whole(-1, 2)) : away(uniform(0.3, 1.95));
        break;
      case Kind::unit:
        a = numbers == Numbers::whole ? whole(-3, 3) / 4 : away(uniform(-0.95, 0.95));
        break;
      default:
        a = numbers == Numbers::whole ? whole(-3, 3) : away(uniform(-1.95, 1.95));
        break;
    }
  }
  return v;
}

DType dtype_of(const Input& x, DType floating) {
  return x.kind == Kind::boolean ? DType::boolean : x.kind == Kind::index ? DType::int64 : floating;
}

Array array_of(const Tensor& x) { return {x.shape(), values(x)}; }

double unit_of(DType dtype) {  // the distance from 1 to the next number
  switch (dtype) {
    case DType::float64:
      return 0x1p-52;
    case DType::float32:
      return 0x1p-23;
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return 0;
  }
}

double largest_of(const std::vector<double>& v) {
  double most = 0;
  for (double a : v) most = std::max(most, std::abs(a));
  return most;
}

/// |got - right| ≤ units · (|right|, or the largest of all; of random cases at least 1)
void expect_near(const OpCase& row, const Tensor& got, const std::vector<double>& right,
                 double units, bool relative_to_largest, const std::string& what) {
  const std::vector<double> v = values(got);
  ASSERT_EQ(v.size(), right.size()) << what;
  const double most = std::max(largest_of(right), row.slack > 1 ? 1.0 : 0.0);
  if (relative_to_largest) units *= row.slack;
  for (size_t i = 0; i < v.size(); ++i) {
    if (std::isnan(v[i]) && std::isnan(right[i])) continue;
    const double scale = relative_to_largest ? most : std::abs(right[i]);
    ASSERT_LE(std::abs(v[i] - right[i]), units * unit_of(got.dtype()) * scale)
        << what << ", element " << i << " of " << got.shape() << ": " << v[i] << ", not "
        << right[i];
  }
}

Tensors leaves_of(const OpCase& row, const Tensors& inputs, int unwanted = -1) {
  Tensors leaves;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor x = inputs[i].alias(inputs[i].layout());
    const bool wanted = row.inputs[i].floating() && row.inputs[i].wants_grad &&
                        static_cast<int>(i) != unwanted && row.traits.differentiable;
    if (wanted) x.set_requires_grad();
    leaves.push_back(x);
  }
  return leaves;
}

std::string input_name(size_t i) { return "gradient of input " + std::to_string(i); }

bool has_batch(const OpCase& row) {
  return std::any_of(row.inputs.begin(), row.inputs.end(),
                     [](const Input& x) { return x.batch >= 0; });
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  const NoGrad no_grad;
  return a + b;
}

/// A buffer like x that lies elsewhere, filled with 99, and all of its memory.
std::pair<Tensor, Tensor> other_buffer(const Tensor& x, Lie lie) {
  const Tensor buffer = laid(full(x.shape(), 99, x.dtype(), x.device()), lie);
  const auto bytes = static_cast<int64_t>(buffer.storage().bytes());
  const int64_t n = bytes / static_cast<int64_t>(size_of(x.dtype()));
  return {buffer, buffer.alias(layout::contiguous({n}))};
}

/// Any numbers: a gradient that is no chain doubles bit for bit.
void expect_doubles(const OpCase& row, DType dtype) {
  const Tensors inputs = inputs_of(row, dtype);
  const Tensor dy = seed_for(row.f(inputs), Numbers::random);
  const Passed once = run(row, inputs, dy), twice = run(row, inputs, dy, 2);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& g = once.gradients[i];
    if (!g.defined()) continue;
    const std::string what = "two passes of any numbers, " + input_name(i);
    const Tensor right = sum_of(g, g);
    if (row.traits.adds == Adds::bitwise)
      expect_same(twice.gradients[i], right, what);
    else
      expect_near(row, twice.gradients[i], values(right), 4, true, what);
  }
}

/// A backward that runs out of memory leaves a gradient as it was, or one that nobody can mistake
/// for a gradient; after zero_grad() the next one is right.
void expect_gradients_survive(const OpCase& row, const Tensors& inputs, const Tensor& dy,
                              int64_t most_allocations) {
  const Passed right = run(row, inputs, dy);
  for (int64_t n = 1; n <= most_allocations; ++n) {
    Tensors leaves = leaves_of(row, inputs);
    for (const Tensor& x : leaves)
      if (x.requires_grad()) set_grad(x, full(x.shape(), 5, x.dtype()));
    const Tensor y = row.f(leaves);
    bool done = false;
    memory_testing::fail_allocation(n);
    try {
      y.backward({.gradient = dy});
      done = true;
    } catch (const OutOfMemory&) {
    }
    memory_testing::fail_allocation(0);
    if (done) return;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].requires_grad()) continue;
      try {
        for (double v : values(leaves[i].grad())) ASSERT_EQ(v, 5) << input_name(i) << " changed";
      } catch (const AutogradError&) {  // said to be neither old nor new
      }
      leaves[i].zero_grad();
    }
    row.f(leaves).backward({.gradient = dy});
    for (size_t i = 0; i < leaves.size(); ++i)
      expect_same(leaves[i].grad(), right.gradients[i], "afterwards, " + input_name(i));
  }
}

}  // namespace

Tensors inputs_of(const OpCase& row, DType dtype, Numbers numbers, std::optional<int64_t> batch,
                  uint32_t seed) {
  uint32_t start = 2166136261U + seed * 97;
  for (char c : row.name) start = (start ^ static_cast<unsigned char>(c)) * 16777619U;
  std::mt19937 bits(start);
  Tensors inputs;
  for (const Input& x : row.inputs) {
    Dims shape = x.shape;
    if (batch && x.batch >= 0) shape[x.batch] = *batch;
    inputs.push_back(from(numbers_for(x, shape, numbers, bits), shape, dtype_of(x, dtype)));
  }
  return inputs;
}

Tensor seed_for(const Tensor& y, Numbers numbers) {
  std::mt19937 bits(7);
  return from(numbers_for({y.shape()}, y.shape(), numbers, bits), y.shape(), y.dtype(), y.device());
}

const char* name_of(Lie lie) {
  return lie == Lie::dense          ? "dense"
         : lie == Lie::transposed   ? "transposed"
         : lie == Lie::every_second ? "every second"
         : lie == Lie::behind       ? "behind others"
                                    : "odd strides";
}

Tensor laid(const Tensor& x, Lie lie) {
  const int rank = x.dim();
  if (rank == 0 || lie == Lie::dense || lie == Lie::odd_strides) {
    const Tensor big =
        full({lie == Lie::dense ? x.numel() : 3 + x.numel()}, 99, x.dtype(), x.device());
    Layout at = layout::contiguous(x.shape());
    at.offset = lie == Lie::dense ? 0 : 3;
    for (int d = 0; lie == Lie::odd_strides && d < rank; ++d)
      if (at.shape[d] == 1) at.strides[d] = 1000003;
    Tensor y = big.alias(at);
    kernels::copy(x, into(y));
    return y;
  }
  Dims around, order;
  for (int d = rank - 1; d >= 0; --d) {
    order.push_back(d);
    around.push_back(x.shape()[d]);
  }
  Dims big = lie == Lie::transposed ? around : x.shape();
  if (lie == Lie::every_second) big[rank - 1] *= 2;
  if (lie == Lie::behind) big[0] += 3;
  const Tensor memory = full(big, 99, x.dtype(), x.device());
  const Layout all = memory.layout();
  Tensor y =
      memory.alias(lie == Lie::transposed     ? layout::permute(all, order)
                   : lie == Lie::every_second ? layout::slice(all, rank - 1, 0, big[rank - 1], 2)
                                              : layout::narrow(all, 0, 3, x.shape()[0]));
  kernels::copy(x, into(y));
  return y;
}

Passed run(const OpCase& row, const Tensors& inputs, const Tensor& dy, int passes, int unwanted) {
  const Tensors leaves = leaves_of(row, inputs, unwanted);
  Passed out;
  for (int i = 0; i < passes; ++i) {
    out.y = row.f(leaves);
    if (out.y.requires_grad()) out.y.backward({.gradient = dy});
  }
  for (const Tensor& x : leaves) out.gradients.push_back(x.grad());
  return out;
}

void expect_same(const Tensor& got, const Tensor& right, const std::string& what) {
  ASSERT_EQ(got.defined(), right.defined()) << what;
  if (!got.defined()) return;
  ASSERT_EQ(got.shape(), right.shape()) << what;
  ASSERT_EQ(got.dtype(), right.dtype()) << what;
  const std::vector<double> a = values(got), b = values(right);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_EQ(std::bit_cast<uint64_t>(a[i]), std::bit_cast<uint64_t>(b[i]))
        << what << ", element " << i << " of " << got.shape() << ": " << a[i] << ", not " << b[i]
        << " (difference " << a[i] - b[i] << ")";
  }
}

void expect_value(const OpCase& row, DType dtype) {
  const Tensors inputs = inputs_of(row, dtype);
  const Tensor y = row.f(inputs);
  Arrays arrays;
  for (const Tensor& x : inputs) arrays.push_back(array_of(x));
  const Array right = row.reference(arrays);
  ASSERT_EQ(y.shape(), right.shape);
  // In float64 the reference's own roundings count too.
  expect_tolerated(row, y, right.v, dtype == DType::float64 ? 4 : 1);
}

void expect_tolerated(const OpCase& row, const Tensor& y, const std::vector<double>& right,
                      double times) {
  if (row.tolerance == Tolerance::exact) {
    EXPECT_EQ(values(y), values(from(right, y.shape(), y.dtype())));
    return;
  }
  const double units = row.tolerance == Tolerance::rounded          ? 2
                       : row.tolerance == Tolerance::transcendental ? 4
                                                                    : 8;
  expect_near(row, y, right, times * units, row.tolerance == Tolerance::sum, "y");
}

void expect_same_gradients(const OpCase& row, const Passed& got, const Passed& right,
                           double times) {
  ASSERT_EQ(got.gradients.size(), right.gradients.size());
  for (size_t i = 0; i < right.gradients.size(); ++i) {
    const Tensor &g = got.gradients[i], &exact = right.gradients[i];
    ASSERT_EQ(g.defined(), exact.defined()) << input_name(i);
    if (!g.defined()) continue;
    ASSERT_EQ(g.shape(), exact.shape()) << input_name(i);
    ASSERT_EQ(g.dtype(), exact.dtype()) << input_name(i);
    const bool moved = row.tolerance == Tolerance::exact && row.traits.adds == Adds::bitwise;
    if (moved)
      expect_same(g, exact, input_name(i));
    else
      expect_near(row, g, values(exact), 8 * times, true, input_name(i));
  }
}

void expect_gradient(const OpCase& row) {
  Tensors leaves = leaves_of(row, inputs_of(row, DType::float64));
  const auto wanted =
      std::any_of(leaves.begin(), leaves.end(), [](const Tensor& x) { return x.requires_grad(); });
  ASSERT_TRUE(wanted) << "no input wants a gradient";
  EXPECT_NO_THROW(gradcheck(row.f, leaves));
}

void expect_add_rule(const OpCase& row, DType dtype) {
  const Tensors inputs = inputs_of(row, dtype, Numbers::whole);
  const Tensor dy = seed_for(row.f(inputs), Numbers::whole);
  const Passed once = run(row, inputs, dy), twice = run(row, inputs, dy, 2);
  const auto expect_sum = [&](const Tensor& got, const Tensor& old, const Tensor& g,
                              const std::string& what) {
    const Tensor right = sum_of(old, g);
    if (row.traits.adds != Adds::chained_fractions) return expect_same(got, right, what);
    ASSERT_EQ(got.shape(), right.shape()) << what;
    expect_near(row, got, values(right), 4, true, what);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& g = once.gradients[i];
    if (!g.defined()) continue;
    ASSERT_EQ(g.shape(), inputs[i].shape());
    expect_sum(twice.gradients[i], g, g, "two passes, " + input_name(i));
  }
  expect_doubles(row, dtype);
  // Onto what is there already: dense, and in memory among that of others.
  for (Lie lie : {Lie::dense, Lie::transposed, Lie::every_second, Lie::behind, Lie::odd_strides}) {
    const Tensors leaves = leaves_of(row, inputs);
    std::vector<std::pair<Tensor, Tensor>> buffers(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!once.gradients[i].defined()) continue;
      buffers[i] = other_buffer(once.gradients[i], lie);
      bind_grad(leaves[i], buffers[i].first);
    }
    row.f(leaves).backward({.gradient = dy});
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!once.gradients[i].defined()) continue;
      const std::string what = std::string(name_of(lie)) + " .grad, " + input_name(i);
      expect_same(leaves[i].grad(), once.gradients[i], what);
      EXPECT_TRUE(leaves[i].grad().same_storage(buffers[i].first)) << what;
    }
    row.f(leaves).backward({.gradient = dy});
    for (size_t i = 0; i < inputs.size(); ++i)
      if (once.gradients[i].defined())
        expect_same(leaves[i].grad(), twice.gradients[i],
                    std::string("second pass, ") + name_of(lie) + " .grad, " + input_name(i));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!once.gradients[i].defined()) continue;
      const Tensor fill = seed_for(once.gradients[i], Numbers::whole);
      set_grad(leaves[i], fill);
    }
    row.f(leaves).backward({.gradient = dy});
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!once.gradients[i].defined()) continue;
      const std::string what = std::string("filled, ") + name_of(lie) + " .grad, " + input_name(i);
      expect_sum(leaves[i].grad(), seed_for(once.gradients[i], Numbers::whole), once.gradients[i],
                 what);
      kernels::fill(99, into(buffers[i].first));
      for (double v : values(buffers[i].second))
        ASSERT_EQ(v, 99) << what << ": a neighbour changed";
    }
  }
}

void expect_unwanted(const OpCase& row, DType dtype) {
  const Tensors inputs = inputs_of(row, dtype);
  const Tensor dy = seed_for(row.f(inputs), Numbers::random);
  const Passed all = run(row, inputs, dy);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Passed some = run(row, inputs, dy, 1, static_cast<int>(i));
    EXPECT_FALSE(some.gradients[i].defined());
    expect_same(some.y, all.y, "y");
    for (size_t k = 0; k < inputs.size(); ++k)
      if (k != i)
        expect_same(some.gradients[k], all.gradients[k],
                    "without input " + std::to_string(i) + ", " + input_name(k));
  }
}

void expect_any_layout(const OpCase& row, DType dtype, double units) {
  const Tensors inputs = inputs_of(row, dtype);
  const Tensor dy = seed_for(row.f(inputs), Numbers::random);
  const Passed dense = run(row, inputs, dy);
  const auto equal = [&](const Tensor& x, const Tensor& right, const std::string& what) {
    if (units == 0 || !x.defined() || !is_floating(x.dtype())) return expect_same(x, right, what);
    expect_near(row, x, values(right), units, true, what);
  };
  const auto expect_equal = [&](const Passed& got, const Passed& right, const std::string& what) {
    equal(got.y, right.y, what + ", y");
    for (size_t i = 0; i < inputs.size(); ++i)
      equal(got.gradients[i], right.gradients[i], what + ", " + input_name(i));
  };
  for (Lie lie : kLies) {
    if (row.traits.differentiable)
      expect_equal(run(row, inputs, laid(dy, lie)), dense, std::string("dy ") + name_of(lie));
    if (row.traits.dense_only) continue;
    Tensors moved;
    for (const Tensor& x : inputs) moved.push_back(laid(x, lie));
    expect_equal(run(row, moved, laid(dy, lie)), dense, std::string("all ") + name_of(lie));
    for (size_t i = 0; inputs.size() > 1 && i < inputs.size(); ++i) {
      moved = inputs;
      moved[i] = laid(inputs[i], lie);
      expect_equal(run(row, moved, dy), dense, "input " + std::to_string(i) + " " + name_of(lie));
    }
  }
  if (row.traits.dense_only) return;
  // Every dimension in turn repeats one element, without memory.
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int d = 0; d < inputs[i].dim(); ++d) {
      Tensors expanded = inputs, copied = inputs;
      if (inputs[i].numel() == 0) continue;
      const Tensor one = inputs[i].alias(layout::narrow(inputs[i].layout(), d, 0, 1));
      expanded[i] = one.alias(layout::expand(one.layout(), inputs[i].shape()));
      copied[i] = from(values(expanded[i]), inputs[i].shape(), inputs[i].dtype());
      expect_equal(run(row, expanded, dy), run(row, copied, dy),
                   "input " + std::to_string(i) + " expanded along " + std::to_string(d));
    }
  }
}

void expect_empty_batch(const OpCase& row, DType dtype) {
  if (!has_batch(row)) return;
  const Tensors inputs = inputs_of(row, dtype, Numbers::random, 0);
  if (row.traits.nothing_of_nothing) {
    EXPECT_THROW(row.f(inputs), ShapeError);
    return;
  }
  const Tensor y = row.f(inputs);
  Arrays arrays;
  for (const Tensor& x : inputs) arrays.push_back(array_of(x));
  const Array right = row.reference(arrays);
  ASSERT_EQ(y.shape(), right.shape);
  EXPECT_EQ(values(y), right.v);
  if (!row.traits.differentiable) return;
  const Passed twice = run(row, inputs, seed_for(y, Numbers::random), 2);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& g = twice.gradients[i];
    if (!row.inputs[i].floating() || !row.inputs[i].wants_grad) continue;
    ASSERT_TRUE(g.defined()) << input_name(i);
    EXPECT_EQ(g.shape(), inputs[i].shape()) << input_name(i);
    const bool adds_to_it = y.numel() > 0;  // cat: what the others gave
    if (row.inputs[i].batch < 0 && !adds_to_it) {
      EXPECT_EQ(largest_of(values(g)), 0) << input_name(i);
    }
  }
}

void expect_any_threads(const OpCase& row, DType dtype) {
  const int before = get_num_threads();
  int64_t largest_item = 1;
  for (const Input& x : row.inputs)
    if (x.batch >= 0) largest_item = std::max(largest_item, numel(x.shape) / x.shape[x.batch]);
  const Tensors inputs = inputs_of(row, dtype, Numbers::random, 3 + 100000 / largest_item);
  set_num_threads(1);
  const Tensor dy = seed_for(row.f(inputs), Numbers::random);
  const Passed one = run(row, inputs, dy, 2);
  for (int threads : {2, 3}) {
    set_num_threads(threads);
    const Passed more = run(row, inputs, dy, 2);
    const std::string what = std::to_string(threads) + " threads, ";
    expect_same(more.y, one.y, what + "y");
    for (size_t i = 0; i < inputs.size(); ++i)
      expect_same(more.gradients[i], one.gradients[i], what + input_name(i));
  }
  set_num_threads(before);
}

void expect_16_bit(const OpCase& row, DType dtype) {
  const Tensors narrow = inputs_of(row, dtype);
  Tensors wide;
  for (size_t i = 0; i < narrow.size(); ++i)
    wide.push_back(row.inputs[i].floating()
                       ? from(values(narrow[i]), narrow[i].shape(), DType::float32)
                       : narrow[i]);
  const Tensor y = row.f(narrow), right = row.f(wide);
  ASSERT_EQ(y.shape(), right.shape());
  // Computed in float32 and rounded once; a sum may also be rounded straight from float64.
  if (row.tolerance == Tolerance::sum && row.slack > 1) {
    OpCase strict = row;
    strict.slack = 1;
    expect_near(strict, y, values(right), 0.5005, false, "y");
  } else {
    expect_same(y, from(values(right), right.shape(), y.dtype(), y.device()), "y");
  }
  if (!row.traits.differentiable) return;
  const Tensor dy = seed_for(y, Numbers::random);
  const Passed got = run(row, narrow, dy);
  const Passed exact = run(row, wide, from(values(dy), dy.shape(), right.dtype(), dy.device()));
  for (size_t i = 0; i < narrow.size(); ++i) {
    if (!got.gradients[i].defined()) continue;
    EXPECT_EQ(got.gradients[i].dtype(), DType::float32) << "a 16-bit leaf sums in float32";
    const double units = 4 * unit_of(dtype) / unit_of(DType::float32);
    expect_near(row, got.gradients[i], values(exact.gradients[i]), units, true, input_name(i));
  }
}

void expect_refusal(const OpCase& row) {
  Tensor x = ones({2, 3}).set_requires_grad();
  set_grad(x, full({2, 3}, 5));
  const uint32_t version = x.version();
  const Philox random = default_generator().state();
  const auto live_bytes = [] {
    return memory_stats().total.live + memory_stats(default_device()).total.live;
  };
  const int64_t live = live_bytes();
  std::string said = "nothing was thrown";
  try {
    row.wrong.call(x);
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_NE(said.find(row.wrong.text), std::string::npos)
      << "said: " << said << "\nmust say: " << row.wrong.text;
  EXPECT_EQ(live_bytes(), live) << "memory is kept";
  EXPECT_EQ(x.version(), version);
  EXPECT_EQ(values(x), std::vector<double>(6, 1)) << "the input changed";
  EXPECT_EQ(values(x.grad()), std::vector<double>(6, 5)) << "its gradient changed";
  const Philox now = default_generator().state();
  EXPECT_TRUE(now.seed == random.seed && now.call == random.call) << "random numbers were used";
}

void expect_survives_no_memory(const OpCase& row, int64_t most_allocations) {
  const Tensors inputs = inputs_of(row, DType::float32);
  const Tensor dy = seed_for(row.f(inputs), Numbers::random);
  const Passed right = run(row, inputs, dy);  // also warms what is kept between calls
  const MemoryStats before = memory_stats();
  for (bool forever : {false, true}) {
    bool done = false;
    for (int64_t n = 1; n <= most_allocations && !done; ++n) {
      memory_testing::fail_allocation(n, forever);
      try {
        const Passed out = run(row, inputs, dy);
        memory_testing::fail_allocation(0);
        done = true;
      } catch (const OutOfMemory&) {
        memory_testing::fail_allocation(0);
      } catch (...) {
        memory_testing::fail_allocation(0);
        ADD_FAILURE() << "allocation " << n << " failed and ended in another exception";
      }
      const MemoryStats after = memory_stats();
      ASSERT_EQ(after.total.live, before.total.live) << "bytes lost, allocation " << n;
      ASSERT_EQ(after.blocks, before.blocks) << "blocks lost, allocation " << n;
    }
    EXPECT_TRUE(done) << "still failing at allocation " << most_allocations;
  }
  if (row.traits.differentiable) expect_gradients_survive(row, inputs, dy, most_allocations);
  const Passed again = run(row, inputs, dy);
  expect_same(again.y, right.y, "y afterwards");
  for (size_t i = 0; i < inputs.size(); ++i)
    expect_same(again.gradients[i], right.gradients[i], input_name(i) + " afterwards");
}

int expect_named_anomalies(const OpCase& row) {
  const std::string& maker = row.traits.node.empty() ? row.op() : row.traits.node;
  const auto finite = [](const Tensor& x) {
    if (!x.defined()) return true;
    const std::vector<double> v = values(x);
    return std::all_of(v.begin(), v.end(), [](double a) { return std::isfinite(a); });
  };
  const auto said_by = [&](const Tensors& inputs, const Tensor& dy) -> std::string {
    const AnomalyMode on;
    try {
      run(row, inputs, dy);
    } catch (const AutogradError& error) {
      return error.what();
    }
    return "";
  };
  const Tensors usual = inputs_of(row, DType::float32);
  EXPECT_EQ(said_by(usual, seed_for(row.f(usual), Numbers::random)), "");
  int named = 0;
  for (double extreme : {0.0, -1.0, 3e38, -3e38, 1e-38, 2e38}) {
    Tensors inputs = usual;
    double sign = 1;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!row.inputs[i].floating()) continue;
      std::vector<double> v(static_cast<size_t>(inputs[i].numel()), extreme);
      for (double& a : v) a *= sign, sign = extreme == 2e38 ? -sign : 1;
      if (extreme == 3e38 && i % 2 == 1) v.assign(v.size(), -extreme);
      inputs[i] = from(v, inputs[i].shape(), DType::float32);
    }
    const Tensor y = row.f(inputs);
    for (double seed : {1.0, 3e38}) {
      const Tensor dy = is_floating(y.dtype()) ? full(y.shape(), seed, y.dtype()) : y;
      const Passed out = run(row, inputs, dy);
      const bool forward = !finite(y);
      bool backward = false;
      for (const Tensor& g : out.gradients) backward = backward || !finite(g);
      const std::string said = said_by(inputs, dy);
      if (!forward && !backward) {
        // Sums over two uses may be infinite where no operator made them so.
        EXPECT_EQ(said, "") << "all " << extreme << ", dy " << seed;
        continue;
      }
      ++named;
      const std::string expected = maker + (forward ? ": the result" : ": backward made");
      EXPECT_NE(said.find(expected), std::string::npos)
          << "all " << extreme << ", dy " << seed << ": \"" << said << "\" lacks \"" << expected
          << '"';
    }
  }
  return named;
}

}  // namespace accrue::testing
