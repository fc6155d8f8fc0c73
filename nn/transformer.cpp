#include <accrue/autograd/ops/activation.h>
#include <accrue/autograd/ops/arithmetic.h>

#include <accrue/nn/transformer.h>

namespace accrue::nn {
namespace {

Tensor activate(const Tensor& x, Activation f) {
  switch (f) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu(x, GeluApproximation::tanh);
    default:
      return x;
  }
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t num_heads,
                                                 const TransformerOptions& options)
    : options_(options) {
  const LinearOptions linear{.bias = options.bias};
  const LayerNormOptions norm{.eps = options.layer_norm_eps, .bias = options.bias};
  self_attn = add<MultiheadAttention>(
      "self_attn", d_model, num_heads,
      MultiheadAttentionOptions{.bias = options.bias, .dropout = options.dropout});
  linear1 = add<Linear>("linear1", d_model, options.dim_feedforward, linear);
  dropout_ = add<Dropout>("dropout", options.dropout);
  linear2 = add<Linear>("linear2", options.dim_feedforward, d_model, linear);
  norm1 = add<LayerNorm>("norm1", d_model, norm);
  norm2 = add<LayerNorm>("norm2", d_model, norm);
  dropout1_ = add<Dropout>("dropout1", options.dropout);
  dropout2_ = add<Dropout>("dropout2", options.dropout);
}

Tensor TransformerEncoderLayer::attend(const Tensor& x, const AttentionOptions& attention) {
  return (*dropout1_)(self_attn->forward(x, attention));
}

Tensor TransformerEncoderLayer::feed(const Tensor& x) {
  const Tensor h = activate((*linear1)(x), options_.activation);
  return (*dropout2_)((*linear2)((*dropout_)(h)));
}

Tensor TransformerEncoderLayer::forward(const Tensor& x, const AttentionOptions& attention) {
  if (options_.norm_first) {
    const Tensor h = x + attend((*norm1)(x), attention);
    return h + feed((*norm2)(h));
  }
  const Tensor h = (*norm1)(x + attend(x, attention));
  return (*norm2)(h + feed(h));
}

}  // namespace accrue::nn
