#include "tests/errors/catalogue.h"

namespace accrue::test {
namespace {

struct Named : nn::Module {
  Tensor one;
  explicit Named(const char* name) { register_parameter(name, one, ones({1})); }
  void twice() { register_parameter("one", one, ones({1})); }
  void null() { register_module("part", nullptr); }
};

/// The layer's, with one entry that is another.
StateDict state_with(World& w, const char* name, const Tensor& value) {
  StateDict state = w.layer->state_dict();
  state[name] = value;
  return state;
}

}  // namespace

std::vector<WrongCall> nn_errors() {
  return {
      wrong<ValueError>("linear_negative", "Linear", {"-1", "2"}, "at least 0",
                        [](World&) { nn::Linear(-1, 2); }),
      wrong<ShapeError>("linear_input", "linear", {"[2, 4]", "[2, 3]"}, "[.., in] and [out, in]",
                        [](World& w) { (*w.layer)(w.b); }),
      wrong<ValueError>("dropout_module", "Dropout", {"2"}, "[0, 1]",
                        [](World&) { nn::Dropout(2); }),
      wrong<ValueError>("layer_norm_module_shape", "LayerNorm", {"[3, 0]"}, "at least 1",
                        [](World&) {
                          nn::LayerNorm(Dims{3, 0});
                        }),
      wrong<ValueError>("layer_norm_module_eps", "LayerNorm", {"eps is -1"}, "at least 0",
                        [](World&) { nn::LayerNorm(3, {.eps = -1}); }),
      wrong<ValueError>("embedding_sizes", "Embedding", {"num_embeddings is 0"}, "at least 1",
                        [](World&) { nn::Embedding(0, 4); }),
      wrong<ValueError>("embedding_module_padding", "Embedding", {"padding_idx is 5"},
                        "-1 for none", [](World&) { nn::Embedding(5, 4, {.padding_idx = 5}); }),
      wrong<ValueError>("conv_module_channels", "Conv2d", {"0 and 4"}, "at least 1",
                        [](World&) { nn::Conv2d(0, 4, 3); }),
      wrong<ValueError>("conv_module_groups", "Conv2d", {"groups is 3", "4"}, "must divide",
                        [](World&) { nn::Conv2d(4, 6, 3, {.groups = 3}); }),
      wrong<ValueError>("pool_module", "MaxPool2d", {"window of 0"}, "at least 1",
                        [](World&) { nn::MaxPool2d(0); }),
      wrong<ValueError>("attention_heads", "MultiheadAttention", {"embed_dim is 10", "num_heads 3"},
                        "num_heads divide embed_dim",
                        [](World&) { nn::MultiheadAttention(10, 3); }),
      wrong<IndexError>("sequential_index", "Sequential", {"no module 3", "it has 0"},
                        "must be below", [](World&) { nn::Sequential()[3]; }),
      wrong<IndexError>("module_list_index", "ModuleList", {"no module 1", "it has 0"},
                        "must be below", [](World&) { nn::ModuleList<>()[1]; }),
      wrong<Error>("no_forward", "forward", {"Named"}, "define it",
                   [](World& w) { Named("x").nn::Module::forward(w.a); }),
      wrong<ValueError>("name_with_a_dot", "module", {"\"a.b\""}, "must not be empty or have a dot",
                        [](World&) { Named("a.b"); }),
      wrong<ValueError>("name_empty", "module", {"\"\""}, "must not be empty",
                        [](World&) { Named(""); }),
      wrong<ValueError>("name_twice", "module", {"one"}, "give each part a name of its own",
                        [](World&) { Named("one").twice(); }),
      wrong<ValueError>("module_null", "module", {"part"}, "must be a module",
                        [](World&) { Named("one").null(); }),
      wrong<DTypeError>("to_integer", "to", {"int64"}, "must be floating point",
                        [](World& w) { w.layer->to(DType::int64); }),
      wrong<ValueError>("state_missing_and_unexpected", "load_state_dict",
                        {"weight", "bias", "extra"}, "nothing was loaded",
                        [](World& w) {
                          w.layer->load_state_dict({{"extra", w.plain}});
                        }),
      wrong<ValueError>(
          "state_shape", "load_state_dict", {"weight", "[2, 3, 4]", "[2, 3]"}, "nothing was loaded",
          [](World& w) { w.layer->load_state_dict(state_with(w, "weight", w.cube)); }),
      wrong<ShapeError>("fans_of_vector", "fans_of", {"[3]"}, "at least two dimensions",
                        [](World&) { nn::init::fans_of({3}); }),
      wrong<ShapeError>("constant_overlap", "constant_", {"[2, 3]"}, "clone it first",
                        [](World& w) { nn::init::zeros_(w.wide); }),
      wrong<ShapeError>(
          "attention_input", "MultiheadAttention", {"[2, 3]"}, "[batch, time, features]",
          [](World& w) {
            const Philox before = default_generator().state();
            const auto attention = std::make_shared<nn::MultiheadAttention>(4, 2);
            default_generator().set_state(before);  // making it is no part of the wrong call
            (*attention)(w.a);
          }),
  };
}

}  // namespace accrue::test
