// Tensors of a call that lie on different devices. Where there is only one device nobody can make
// such a call, and the list is empty.
#include "tests/errors/catalogue.h"

namespace accrue::test {
namespace {

/// x where the other operands are not.
Tensor elsewhere(const Tensor& x) {
  return to(detach(x), x.device().is_cpu() ? Device::cuda() : Device::cpu());
}

WrongCall mixed(const char* name, const char* begins, std::function<void(World&)> call,
                const char* rule = "both must be on one device") {
  return wrong<DeviceError>(name, begins, {"cpu", "cuda:0"}, rule, std::move(call));
}

}  // namespace

std::vector<WrongCall> device_errors() {
  if (!cuda_is_available()) return {};
  const char* const equal = "they must be equal";
  return {
      mixed("mixed_add", "add", [](World& w) { w.a + elsewhere(w.plain); }),
      mixed("mixed_div", "div", [](World& w) { elsewhere(w.plain) / w.a; }),
      mixed("mixed_lt", "lt", [](World& w) { lt(w.a, elsewhere(w.plain)); }),
      mixed("mixed_where", "where", [](World& w) { where(elsewhere(w.flags), w.a, w.plain); }),
      mixed("mixed_masked_fill", "masked_fill",
            [](World& w) { masked_fill(w.a, elsewhere(w.flags), 1); }),
      mixed("mixed_matmul", "matmul",
            [](World& w) { matmul(w.a, elsewhere(transpose(w.plain, 0, 1))); }),
      mixed("mixed_linear_bias", "linear",
            [](World& w) { linear(w.plain, w.layer->weight, elsewhere(w.layer->bias)); }),
      mixed("mixed_layer", "linear", [](World& w) { (*w.layer)(elsewhere(w.plain)); }),
      mixed("mixed_conv2d", "conv2d", [](World& w) { conv2d(w.images, elsewhere(w.kernels)); }),
      mixed("mixed_layer_norm", "layer_norm",
            [](World& w) { layer_norm(w.plain, {3}, elsewhere(ones({3}))); }),
      mixed("mixed_cat", "cat",
            [](World& w) {
              cat({w.a, elsewhere(w.plain)});
            }),
      mixed("mixed_stack", "stack",
            [](World& w) {
              stack({w.a, elsewhere(w.plain)});
            }),
      mixed("mixed_embedding", "embedding",
            [](World& w) { embedding(transpose(w.a, 0, 1), elsewhere(w.whole)); }),
      mixed("mixed_index_select", "index_select",
            [](World& w) { index_select(w.a, 1, elsewhere(w.whole)); }),
      mixed("mixed_cross_entropy", "cross_entropy",
            [](World& w) { cross_entropy(w.a, elsewhere(narrow(w.whole, 0, 0, 2))); }),
      mixed("mixed_mse_loss", "mse_loss", [](World& w) { mse_loss(w.a, elsewhere(w.plain)); }),
      mixed("mixed_attention", "scaled_dot_product_attention",
            [](World& w) { scaled_dot_product_attention(w.a, elsewhere(w.plain), w.plain); }),
      mixed("mixed_attention_mask", "scaled_dot_product_attention",
            [](World& w) {
              scaled_dot_product_attention(w.a, w.plain, w.plain,
                                           {.mask = elsewhere(ones({2, 2}, DType::boolean))});
            }),
      mixed("mixed_copy", "copy_", [](World& w) { copy_(w.plain, elsewhere(w.a)); }),
      mixed("mixed_add_", "add_", [](World& w) { w.plain += elsewhere(w.a); }),
      mixed(
          "mixed_set_grad", "set_grad", [](World& w) { set_grad(w.a, elsewhere(w.plain)); }, equal),
      mixed(
          "mixed_bind_grad", "bind_grad", [](World& w) { bind_grad(w.a, elsewhere(w.plain)); },
          equal),
      mixed(
          "mixed_backward", "backward",
          [](World& w) { w.computed.backward({.gradient = elsewhere(w.plain)}); }, equal),
  };
}

}  // namespace accrue::test
