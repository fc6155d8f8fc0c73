// The source of random choices, and the list of the operators that have random cases. The cases
// are in the chapters: begin with random_elementwise.cpp.
#include "tests/ops/random_cases.h"

#include "tests/ops/random_chapters.h"

namespace accrue::testing {

Random::Random(const std::string& op, uint32_t seed) {
  uint32_t start = 2166136261U + seed * 97;
  for (char c : op) start = (start ^ static_cast<unsigned char>(c)) * 16777619U;
  bits_.seed(start);
}

Dims Random::shape(int least_rank, int most_rank, int64_t most, bool nothing) {
  const auto rank = whole(least_rank, most_rank);
  Dims out;
  for (int64_t d = 0, product = 1; d < rank; ++d) {
    auto n = of<int64_t>({1, 1, 2, 2, 3, 3, 4, 5, 7, 17, 33, 64, 1031});
    if (product * n > most) n = 1;
    product *= n;
    out.push_back(nothing && one_in(25) ? 0 : n);
  }
  return out;
}

Dims Random::stretching_to(const Dims& full) {
  Dims out;
  for (int d = static_cast<int>(one_in(2) ? whole(0, full.size()) : 0); d < full.size(); ++d)
    out.push_back(one_in(3) ? 1 : full[d]);
  return out;
}

Dims Random::shape_of(int64_t n) {
  Dims out = Dims::filled(static_cast<int>(whole(n == 1 ? 0 : 1, 4)), 1);
  if (out.empty()) return out;
  if (n == 0) {
    for (int64_t& size : out) size = whole(0, 4);
    out[dim(out)] = 0;
    return out;
  }
  for (int64_t factor = 2; n > 1; ++factor)
    for (; n % factor == 0; n /= factor) out[dim(out)] *= factor;
  return out;
}

Dims Random::order(int n) {
  Dims out;
  for (int d = 0; d < n; ++d) out.insert(static_cast<int>(whole(0, d)), d);
  return out;
}

const std::vector<RandomOp>& random_ops() {
  static const std::vector<RandomOp> all = [] {
    std::vector<RandomOp> ops;
    const OpAdder has(ops);
    add_elementwise(has);
    add_rows(has);
    add_products(has);
    add_views(has);
    add_picks(has);
    return ops;
  }();
  return all;
}

}  // namespace accrue::testing
