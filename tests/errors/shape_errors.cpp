#include "tests/errors/catalogue.h"

namespace accrue::test {

std::vector<WrongCall> shape_errors() {
  return {
      wrong<ShapeError>("transpose_dimension", "transpose", {"dimension 2"}, "[-2, 2)",
                        [](World& w) { transpose(w.a, 0, 2); }),
      wrong<ShapeError>("t_of_three", "t", {"[2, 3, 4]"}, "use transpose",
                        [](World& w) { t(w.cube); }),
      wrong<ShapeError>("permute_count", "permute", {"[0]", "[2, 3]"}, "name each exactly once",
                        [](World& w) { permute(w.a, {0}); }),
      wrong<ShapeError>("permute_twice", "permute", {"dimension 1", "[1, 1]"},
                        "name each exactly once",
                        [](World& w) {
                          permute(w.a, {1, 1});
                        }),
      wrong<ShapeError>("permute_outside", "permute", {"dimension 5"}, "[-2, 2)",
                        [](World& w) {
                          permute(w.a, {0, 5});
                        }),
      wrong<ShapeError>("slice_step", "slice", {"step 0"}, "it must be positive",
                        [](World& w) { slice(w.a, 1, 0, 3, 0); }),
      wrong<ShapeError>("slice_dimension", "slice", {"dimension -3"}, "[-2, 2)",
                        [](World& w) { slice(w.a, -3); }),
      wrong<ShapeError>("narrow_outside", "narrow", {"3 elements from 1", "[2, 3]"},
                        "must lie inside its 3", [](World& w) { narrow(w.a, 1, 1, 3); }),
      wrong<ShapeError>("narrow_negative", "narrow", {"-1 elements"}, "must lie inside",
                        [](World& w) { narrow(w.a, 1, 0, -1); }),
      wrong<IndexError>("select_outside", "select", {"index 3", "[2, 3]"}, "[-3, 3)",
                        [](World& w) { select(w.a, 1, 3); }),
      wrong<ShapeError>("expand_size", "expand", {"[2, 3]", "[4, 3]", "dimension 0 is 2"},
                        "only size 1 can be repeated",
                        [](World& w) {
                          expand(w.a, {4, 3});
                        }),
      wrong<ShapeError>("expand_fewer", "expand", {"[2, 3]", "[3]"}, "as many or more",
                        [](World& w) { expand(w.a, {3}); }),
      wrong<ShapeError>("expand_negative", "expand", {"[2, 3]", "[-2, 2, 3]"}, "must be 0 or more",
                        [](World& w) {
                          expand(w.a, {-2, 2, 3});
                        }),
      wrong<ShapeError>("reshape_count", "reshape", {"[2, 3]", "6 elements", "[4]"},
                        "must be equal", [](World& w) { reshape(w.a, {4}); }),
      wrong<ShapeError>("reshape_two_unknown", "reshape", {"[-1, -1]"}, "at most one",
                        [](World& w) {
                          reshape(w.a, {-1, -1});
                        }),
      wrong<ShapeError>("reshape_no_multiple", "reshape", {"[2, 3]", "[-1, 4]"},
                        "must be a multiple of 4",
                        [](World& w) {
                          reshape(w.a, {-1, 4});
                        }),
      wrong<ShapeError>("reshape_negative", "reshape", {"[-2, -3]"}, "sizes are 0 or more",
                        [](World& w) {
                          reshape(w.a, {-2, -3});
                        }),
      wrong<ShapeError>("view_needs_a_copy", "view", {"[3, 2]", "[1, 3]", "[6]"}, "use reshape",
                        [](World& w) { view(transpose(w.a, 0, 1), {6}); }),
      wrong<ShapeError>("flatten_order", "flatten", {"dimension 1 comes after 0"},
                        "must not be behind", [](World& w) { flatten(w.a, 1, 0); }),
      wrong<ShapeError>("squeeze_dimension", "squeeze", {"dimension 4"}, "[-2, 2)",
                        [](World& w) { squeeze(w.a, 4); }),
      wrong<ShapeError>("unsqueeze_dimension", "unsqueeze", {"dimension 4"}, "[-3, 3)",
                        [](World& w) { unsqueeze(w.a, 4); }),
      wrong<ShapeError>("split_size", "split", {"pieces of 0", "[2, 3]"}, "at least one element",
                        [](World& w) { split(w.a, 0); }),
      wrong<ShapeError>("split_sizes_short", "split", {"leave 1", "[2, 3]"}, "must sum to it",
                        [](World& w) {
                          split(w.a, {1, 1}, 1);
                        }),
      wrong<ShapeError>("split_sizes_long", "split", {"3 elements", "[2, 3]"}, "must sum to it",
                        [](World& w) {
                          split(w.a, {2, 2}, 1);
                        }),
      wrong<ShapeError>("chunk_count", "chunk", {"0"}, "at least one",
                        [](World& w) { chunk(w.a, 0); }),
      wrong<ShapeError>("unbind_dimension", "unbind", {"dimension 2"}, "[-2, 2)",
                        [](World& w) { unbind(w.a, 2); }),
      wrong<ShapeError>("cat_nothing", "cat", {"empty"}, "give at least one",
                        [](World&) { cat({}); }),
      wrong<ShapeError>("cat_shapes", "cat", {"tensor 0 is [2, 3]", "tensor 1 is [2, 4]"},
                        "must be equal",
                        [](World& w) {
                          cat({w.a, w.b});
                        }),
      wrong<ShapeError>("cat_dimension", "cat", {"dimension 2"}, "[-2, 2)",
                        [](World& w) {
                          cat({w.a, w.plain}, 2);
                        }),
      wrong<AutogradError>("cat_undefined", "cat", {"not defined"}, "default-constructed",
                           [](World& w) {
                             cat({w.a, Tensor()});
                           }),
      wrong<ShapeError>("stack_shapes", "stack", {"tensor 0 is [2, 3]", "tensor 1 is [2, 4]"},
                        "must be equal",
                        [](World& w) {
                          stack({w.a, w.b});
                        }),
      wrong<ShapeError>("repeat_few", "repeat", {"[2, 3]", "[2]"}, "a number for each dimension",
                        [](World& w) { repeat(w.a, {2}); }),
      wrong<ShapeError>("repeat_negative", "repeat", {"[1, -2]"}, "must not be negative",
                        [](World& w) {
                          repeat(w.a, {1, -2});
                        }),
      wrong<ShapeError>("repeat_too_large", "repeat", {"[2, 3]", "4611686018427387904"},
                        "too large",
                        [](World& w) {
                          repeat(w.a, {int64_t{1} << 62, 1});
                        }),
      wrong<ShapeError>("roll_dimension", "roll", {"dimension 2"}, "[-2, 2)",
                        [](World& w) { roll(w.a, 1, 2); }),
      wrong<ShapeError>("flip_twice", "flip", {"dimension 0", "[0, -2]"}, "at most once",
                        [](World& w) {
                          flip(w.a, {0, -2});
                        }),
  };
}

}  // namespace accrue::test
