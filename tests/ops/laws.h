// What every operator obeys, as functions of a row of the table. A law that is broken is a
// failure of the running test, traced to the row's name. The suites and the property tests call
// these.
#pragma once
#include <optional>

#include "tests/ops/op_case.h"
#include <gtest/gtest.h>

namespace accrue::testing {

/// random: as the row says. whole: small whole numbers (powers of two where they must be positive),
/// so that sums of products are exact in any order.
enum class Numbers : uint8_t { random, whole };
/// The row's inputs, dense; the same each time for one seed. `batch` takes the place of the batch's
/// size.
Tensors inputs_of(const OpCase& row, DType dtype, Numbers numbers = Numbers::random,
                  std::optional<int64_t> batch = {}, uint32_t seed = 0);
/// A gradient for y.
Tensor seed_for(const Tensor& y, Numbers numbers);

/// How the elements of a tensor lie in memory.
enum class Lie : uint8_t {
  dense,
  transposed,
  every_second,
  behind,
  odd_strides  ///< where the size is 1, and no stride is ever used
};
/// The same values in memory of that layout, among numbers 99.
Tensor laid(const Tensor& x, Lie lie);
inline constexpr Lie kLies[] = {Lie::transposed, Lie::every_second, Lie::behind, Lie::odd_strides};
const char* name_of(Lie lie);

struct Passed {
  Tensor y;
  Tensors gradients;  ///< one for each input; not defined where none was wanted
};
/// Forward and `passes` times backward. `unwanted`: the input that wants no gradient.
Passed run(const OpCase& row, const Tensors& inputs, const Tensor& dy, int passes = 1,
           int unwanted = -1);

/// The same shape, dtype and bits, or NaN in both.
void expect_same(const Tensor& got, const Tensor& right, const std::string& what);

/// y is as near to `right` as the row asks, `times` over; the same bits where numbers only move.
void expect_tolerated(const OpCase& row, const Tensor& y, const std::vector<double>& right,
                      double times = 1);
/// Each gradient is the other's, computed by other code, to 8 units of its largest element, `times`
/// over; the same bits where numbers only move.
void expect_same_gradients(const OpCase& row, const Passed& got, const Passed& right,
                           double times = 1);

/// y is the reference's.
void expect_value(const OpCase& row, DType dtype);
/// Every gradient is the finite difference, in float64.
void expect_gradient(const OpCase& row);
/// A second backward adds, whatever `.grad` was, however it lies, and nobody else's memory changes.
void expect_add_rule(const OpCase& row, DType dtype);
/// An input that wants no gradient gets none, and the others the same bits.
void expect_unwanted(const OpCase& row, DType dtype);
/// The layout of inputs and of dy changes no bit; or, given `units`, not more than these of the
/// largest element.
void expect_any_layout(const OpCase& row, DType dtype, double units = 0);
/// A batch of nothing has results and gradients of the right shapes, and zero gradients elsewhere.
void expect_empty_batch(const OpCase& row, DType dtype);
/// The number of threads changes no bit, on batches that are worth several.
void expect_any_threads(const OpCase& row, DType dtype);
/// 16-bit inputs give what float32 gives for the same numbers, rounded.
void expect_16_bit(const OpCase& row, DType dtype);
/// The wrong call throws its text and changes nothing.
void expect_refusal(const OpCase& row);
/// Memory that runs out at any allocation ends in OutOfMemory, and nothing is lost.
void expect_survives_no_memory(const OpCase& row, int64_t most_allocations);
/// In anomaly mode a right run is silent, and what makes a number that is not finite is named.
/// Returns how many of the provocations did.
int expect_named_anomalies(const OpCase& row);

}  // namespace accrue::testing
