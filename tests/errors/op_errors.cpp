#include "tests/errors/catalogue.h"

namespace accrue::test {
namespace {

std::vector<WrongCall> elements() {
  return {
      wrong<ShapeError>("add_shapes", "add",
                        {"[2, 3]", "[2, 4]", "dimension 1 is 3 on the left and 4"},
                        "must be equal or 1", [](World& w) { w.a + w.b; }),
      wrong<ShapeError>("sub_shapes", "sub", {"[2, 3]", "[2, 4]"}, "must be equal or 1",
                        [](World& w) { w.a - w.b; }),
      wrong<ShapeError>("mul_shapes", "mul", {"[2, 3, 4]", "[2, 3]"}, "must be equal or 1",
                        [](World& w) { w.cube* w.a; }),
      wrong<ShapeError>("div_shapes", "div", {"[2, 4]", "[3]"}, "must be equal or 1",
                        [](World& w) { div(w.b, w.whole); }),
      wrong<ShapeError>("maximum_shapes", "maximum", {"[2, 3]", "[2, 4]"}, "must be equal or 1",
                        [](World& w) { maximum(w.a, w.b); }),
      wrong<ShapeError>("eq_shapes", "eq", {"[2, 3]", "[2, 4]"}, "must be equal or 1",
                        [](World& w) { eq(w.a, w.b); }),
      wrong<AutogradError>("add_undefined", "add", {"not defined"}, "default-constructed",
                           [](World& w) { w.a + Tensor(); }),
      wrong<AutogradError>("mul_absent_gradient", "mul", {"not defined"}, "absent gradient",
                           [](World& w) { w.plain.grad() * 2; }),
      wrong<DTypeError>("exp_integer", "exp", {"int64"}, "cast it first",
                        [](World& w) { exp(w.whole); }),
      wrong<DTypeError>("sqrt_bool", "sqrt", {"bool"}, "cast it first",
                        [](World& w) { sqrt(w.flags); }),
      wrong<DTypeError>("relu_integer", "relu", {"int64"}, "cast it first",
                        [](World& w) { relu(w.whole); }),
      wrong<DTypeError>("gelu_integer", "gelu", {"int64"}, "cast it first",
                        [](World& w) { gelu(w.whole); }),
      wrong<ValueError>("clamp_bounds", "clamp", {"2 and 1"}, "must not be above",
                        [](World& w) { clamp(w.a, 2, 1); }),
      wrong<DTypeError>("where_condition", "where", {"float32"}, "must be bool",
                        [](World& w) { where(w.a, w.a, w.a); }),
      wrong<ShapeError>("where_shapes", "where", {"[2, 3]", "[2, 4]"}, "must be equal or 1",
                        [](World& w) { where(w.flags, w.a, w.b); }),
      wrong<AutogradError>("add_in_place_leaf", "add_", {"leaf", "[2, 3]"}, "NoGrad",
                           [](World& w) { w.a += 1; }),
      wrong<AutogradError>("mul_in_place_computed", "mul_", {"computed", "[2, 3]"}, "out-of-place",
                           [](World& w) { w.computed *= 2; }),
      wrong<ShapeError>("fill_overlap", "fill_", {"[2, 3]", "[0, 1]"}, "clone it first",
                        [](World& w) { fill_(w.wide, 1); }),
      wrong<ShapeError>("copy_stretches_target", "copy_", {"[2, 3, 4]", "[2, 3]"},
                        "must be equal or 1", [](World& w) { copy_(w.plain, w.cube); }),
      wrong<ShapeError>("sub_in_place_grows", "sub_", {"[1, 2, 3]", "[2, 3]"}, "must broadcast to",
                        [](World& w) { w.plain -= unsqueeze(w.real64, 0); }),
      wrong<DTypeError>("div_in_place_integer", "div_", {"int64"}, "cast it to a floating point",
                        [](World& w) { w.whole /= 2; }),
  };
}

std::vector<WrongCall> products_and_rows() {
  return {
      wrong<ShapeError>("matmul_inner", "matmul", {"[2, 3]", "[2, 4]"},
                        "must equal the second last", [](World& w) { matmul(w.a, w.b); }),
      wrong<ShapeError>("matmul_number", "matmul", {"[]", "[2, 3]"}, "at least one dimension",
                        [](World& w) { matmul(scalar(1), w.a); }),
      wrong<DTypeError>("matmul_dtypes", "matmul", {"float32", "float64"}, "cast one",
                        [](World& w) { matmul(w.a, transpose(w.real64, 0, 1)); }),
      wrong<DTypeError>("matmul_integer", "matmul", {"int64"}, "cast it first",
                        [](World& w) { matmul(w.whole, w.whole); }),
      wrong<ShapeError>("matmul_batches", "matmul", {"[2] with [3]"}, "must be equal or 1",
                        [](World& w) {
                          matmul(w.cube, ones({3, 4, 1}));
                        }),
      wrong<ShapeError>("linear_width", "linear", {"[2, 4]", "[2, 3]"}, "[.., in] and [out, in]",
                        [](World& w) { linear(w.b, w.a); }),
      wrong<ShapeError>("linear_bias", "linear", {"[2, 3]"}, "it must be [2]",
                        [](World& w) { linear(w.plain, w.a, w.plain); }),
      wrong<ShapeError>("sum_dimension", "sum", {"dimension 2"}, "[-2, 2)",
                        [](World& w) { sum(w.a, 2); }),
      wrong<ShapeError>("sum_twice", "sum", {"dimension 1", "[1, -1]"}, "at most once",
                        [](World& w) {
                          sum(w.a, {1, -1});
                        }),
      wrong<DTypeError>("mean_integer", "mean", {"int64"}, "cast it first",
                        [](World& w) { mean(w.whole); }),
      wrong<ShapeError>("mean_of_nothing", "mean", {"[2, 0]"}, "no mean of nothing",
                        [](World& w) { mean(w.none); }),
      wrong<ShapeError>("amax_of_nothing", "amax", {"[2, 0]"}, "no amax of nothing",
                        [](World& w) { amax(w.none, 1); }),
      wrong<ShapeError>("argmin_of_nothing", "argmin", {"[2, 0]"}, "no argmin of nothing",
                        [](World& w) { argmin(w.none); }),
      wrong<ShapeError>("max_dimension", "max", {"dimension -3"}, "[-2, 2)",
                        [](World& w) { max(w.a, -3); }),
      wrong<ShapeError>("softmax_dimension", "softmax", {"dimension 2"}, "[-2, 2)",
                        [](World& w) { softmax(w.a, 2); }),
      wrong<DTypeError>("log_softmax_integer", "log_softmax", {"int64"}, "cast it first",
                        [](World& w) { log_softmax(w.whole, 0); }),
      wrong<ShapeError>("layer_norm_shape", "layer_norm", {"[4]", "[2, 3]"},
                        "must be the last dimensions", [](World& w) { layer_norm(w.a, {4}); }),
      wrong<ShapeError>("layer_norm_weight", "layer_norm", {"[2, 3]"},
                        "must be the normalized shape [3]",
                        [](World& w) { layer_norm(w.a, {3}, w.plain); }),
      wrong<ValueError>("layer_norm_eps", "layer_norm", {"-1"}, "0 or positive",
                        [](World& w) { layer_norm(w.a, {3}, {}, {}, -1); }),
      wrong<ValueError>("dropout_probability", "dropout", {"1.5"}, "[0, 1]",
                        [](World& w) { dropout(w.a, 1.5); }),
      wrong<DTypeError>("dropout_integer", "dropout", {"int64"}, "cast it first",
                        [](World& w) { dropout(w.whole, 0.5); }),
      wrong<IndexError>("cross_entropy_target", "cross_entropy",
                        {"target 3", "position 1", "[0, 3)"}, "ignore_index -100",
                        [](World& w) {
                          cross_entropy(w.a, tensor({0, 3}, DType::int64));
                        }),
      wrong<ShapeError>("cross_entropy_shapes", "cross_entropy", {"[2, 3]", "[3]"},
                        "need a target of shape [2]",
                        [](World& w) { cross_entropy(w.a, w.whole); }),
      wrong<DTypeError>("cross_entropy_target_dtype", "cross_entropy", {"float32"},
                        "int64 or int32", [](World& w) { cross_entropy(w.a, ones({2})); }),
      wrong<ValueError>(
          "cross_entropy_smoothing", "cross_entropy", {"1.5"}, "[0, 1]",
          [](World& w) {
            cross_entropy(w.a, tensor({0, 1}, DType::int64), {.label_smoothing = 1.5});
          }),
      wrong<ShapeError>("cross_entropy_weight", "cross_entropy", {"[2]"}, "one for each class, [3]",
                        [](World& w) {
                          cross_entropy(w.a, tensor({0, 1}, DType::int64), {.weight = ones({2})});
                        }),
      wrong<ShapeError>("mse_loss_shapes", "mse_loss", {"[2, 3]", "[2, 4]"},
                        "reshape the target to [2, 3]", [](World& w) { mse_loss(w.a, w.b); }),
      wrong<ShapeError>("l1_loss_shapes", "l1_loss", {"[2, 3]", "[3]"},
                        "reshape the target to [2, 3]", [](World& w) { l1_loss(w.a, ones({3})); }),
  };
}

std::vector<WrongCall> picks() {
  return {
      wrong<ShapeError>("index_select_matrix", "index_select", {"[1, 3]"}, "must be a vector",
                        [](World& w) { index_select(w.a, 0, unsqueeze(w.whole, 0)); }),
      wrong<IndexError>("index_select_outside", "index_select", {"index 2", "position [2]"},
                        "[0, 2)", [](World& w) { index_select(w.a, 0, w.whole); }),
      wrong<DTypeError>("index_select_dtype", "index_select", {"float32"}, "int64 or int32",
                        [](World& w) { index_select(w.a, 0, ones({2})); }),
      wrong<ShapeError>("gather_rank", "gather", {"[3]", "[2, 3]"}, "equally many dimensions",
                        [](World& w) { gather(w.a, 0, w.whole); }),
      wrong<IndexError>("gather_negative", "gather", {"index -1"}, "[0, 3)",
                        [](World& w) {
                          gather(w.a, 1, full({2, 1}, -1, DType::int64));
                        }),
      wrong<ShapeError>("embedding_weight", "embedding", {"[2, 3, 4]"}, "must be [rows, width]",
                        [](World& w) { embedding(w.cube, w.whole); }),
      wrong<IndexError>("embedding_id", "embedding", {"index 2"}, "[0, 2)",
                        [](World& w) { embedding(w.a, w.whole); }),
      wrong<IndexError>("embedding_padding", "embedding", {"padding_idx 7"}, "-1 for none",
                        [](World& w) { embedding(w.a, w.whole, 7); }),
      wrong<ShapeError>("index_add_source", "index_add", {"[2, 4]"}, "it must be [2, 3]",
                        [](World& w) {
                          index_add(w.a, 0, tensor({0, 1}, DType::int64), w.b);
                        }),
      wrong<DTypeError>("scatter_add_dtype", "scatter_add", {"float32", "float64"}, "must be equal",
                        [](World& w) {
                          scatter_add(w.a, 1, zeros({2, 3}, DType::int64), w.real64);
                        }),
  };
}

std::vector<WrongCall> images_and_attention() {
  return {
      wrong<ShapeError>("conv2d_input", "conv2d", {"[2, 3]"}, "it must be [batch, channels",
                        [](World& w) { conv2d(w.a, w.kernels); }),
      wrong<ShapeError>("conv2d_weight", "conv2d", {"[2, 3]"}, "it must be [out channels",
                        [](World& w) { conv2d(w.images, w.a); }),
      wrong<ShapeError>("conv2d_channels", "conv2d", {"2 channels", "[4, 3, 3, 3]"},
                        "must be channels / groups",
                        [](World& w) {
                          conv2d(w.images, ones({4, 3, 3, 3}));
                        }),
      wrong<ShapeError>("conv2d_too_large", "conv2d", {"kernel 3, dilation 2", "is 5", "is 4"},
                        "pad more or take a smaller kernel",
                        [](World& w) {
                          conv2d(w.images, w.kernels, {}, {.dilation = {2, 2}});
                        }),
      wrong<ShapeError>("conv2d_bias", "conv2d", {"[3]"}, "one for each output channel",
                        [](World& w) { conv2d(w.images, w.kernels, ones({3})); }),
      wrong<ValueError>("conv2d_stride", "conv2d", {"stride is 0"}, "at least 1",
                        [](World& w) {
                          conv2d(w.images, w.kernels, {}, {.stride = {0, 1}});
                        }),
      wrong<ValueError>("conv2d_padding", "conv2d", {"padding is -1"}, "must not be negative",
                        [](World& w) {
                          conv2d(w.images, w.kernels, {}, {.padding = {-1, 0}});
                        }),
      wrong<ValueError>("conv2d_groups", "conv2d", {"groups is 0"}, "at least 1",
                        [](World& w) { conv2d(w.images, w.kernels, {}, {.groups = 0}); }),
      wrong<ShapeError>("conv2d_groups_uneven", "conv2d", {"3 groups", "2 input"},
                        "must be multiples",
                        [](World& w) { conv2d(w.images, w.kernels, {}, {.groups = 3}); }),
      wrong<DTypeError>("conv2d_dtypes", "conv2d", {"float32", "float64"}, "cast one",
                        [](World& w) { conv2d(w.images, cast(w.kernels, DType::float64)); }),
      wrong<ShapeError>("conv1d_input", "conv1d", {"[1, 2, 4, 4]"}, "it must be [batch, channels",
                        [](World& w) {
                          conv1d(w.images, ones({1, 2, 3}));
                        }),
      wrong<ValueError>("max_pool2d_kernel", "max_pool2d", {"kernel is 0"}, "at least 1",
                        [](World& w) {
                          max_pool2d(w.images, {.kernel = {0, 2}});
                        }),
      wrong<ValueError>("max_pool2d_padding", "max_pool2d", {"padding is 2", "kernel of 2"},
                        "at most half the kernel",
                        [](World& w) {
                          max_pool2d(w.images, {.padding = {2, 0}});
                        }),
      wrong<ShapeError>("max_pool2d_too_large", "max_pool2d", {"5", "4"}, "take a smaller kernel",
                        [](World& w) {
                          max_pool2d(w.images, {.kernel = {5, 2}});
                        }),
      wrong<ValueError>("avg_pool2d_divisor", "avg_pool2d", {"-1"}, "0 for the count",
                        [](World& w) { avg_pool2d(w.images, {.divisor_override = -1}); }),
      wrong<ShapeError>("attention_widths", "scaled_dot_product_attention",
                        {"q is [2, 3]", "k is [2, 4]"}, "must be equally wide",
                        [](World& w) { scaled_dot_product_attention(w.a, w.b, w.a); }),
      wrong<DTypeError>("attention_dtypes", "scaled_dot_product_attention", {"float32", "float64"},
                        "must be the same",
                        [](World& w) { scaled_dot_product_attention(w.a, w.real64, w.a); }),
      wrong<ValueError>(
          "attention_dropout", "scaled_dot_product_attention", {"-0.5"}, "from 0 to 1",
          [](World& w) { scaled_dot_product_attention(w.a, w.a, w.a, {.dropout_p = -0.5}); }),
      wrong<DTypeError>(
          "attention_mask_dtype", "scaled_dot_product_attention", {"int64"}, "must be bool",
          [](World& w) {
            scaled_dot_product_attention(w.a, w.a, w.a, {.mask = zeros({2, 2}, DType::int64)});
          }),
      wrong<ShapeError>(
          "attention_mask_shape", "scaled_dot_product_attention", {"[2, 3]"}, "[2, 2]",
          [](World& w) { scaled_dot_product_attention(w.a, w.a, w.a, {.mask = w.flags}); }),
      wrong<ShapeError>("packed_attention_shape", "packed_attention", {"[2, 3, 4]", "2 heads"},
                        "3 * heads * width", [](World& w) { packed_attention(w.cube, 2); }),
      wrong<AutogradError>("cast_undefined", "cast", {"not defined"}, "default-constructed",
                           [](World&) { cast(Tensor(), DType::float64); }),
  };
}

}  // namespace

std::vector<WrongCall> op_errors() {
  std::vector<WrongCall> all = elements();
  for (auto* more : {products_and_rows, picks, images_and_attention})
    for (WrongCall& row : more()) all.push_back(std::move(row));
  return all;
}

}  // namespace accrue::test
