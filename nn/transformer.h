// TransformerEncoderLayer: attention and a small network at each position, each with a way around
// it and a LayerNorm (Vaswani et al. 2017).
//
//   x = norm1(x + attention(x))      norm_first:  x = x + attention(norm1(x))
//   x = norm2(x + feed(x))                        x = x + feed(norm2(x))
//   feed(x) = linear2(activation(linear1(x)))
#pragma once
#include <accrue/nn/attention.h>
#include <accrue/nn/dropout.h>
#include <accrue/nn/layer_norm.h>
#include <accrue/nn/linear.h>

namespace accrue::nn {

using accrue::Activation;

struct TransformerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;  ///< of attention weights, both branches and the hidden layer
  Activation activation = Activation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;
  bool bias = true;
};

class TransformerEncoderLayer : public Module {
 public:
  /// Throws ValueError as its parts do.
  TransformerEncoderLayer(int64_t d_model, int64_t num_heads,
                          const TransformerOptions& options = {});
  /// x [B, T, d_model]; the batch comes first, always.
  Tensor forward(const Tensor& x) override { return forward(x, AttentionOptions{}); }
  Tensor forward(const Tensor& x, const AttentionOptions& attention);
  using Module::operator();
  Tensor operator()(const Tensor& x, const AttentionOptions& attention) {
    return forward(x, attention);
  }

  std::shared_ptr<MultiheadAttention> self_attn;
  std::shared_ptr<Linear> linear1, linear2;
  std::shared_ptr<LayerNorm> norm1, norm2;

 private:
  Tensor attend(const Tensor& x, const AttentionOptions& attention);
  Tensor feed(const Tensor& x);

  TransformerOptions options_;
  std::shared_ptr<Dropout> dropout_, dropout1_, dropout2_;
};

}  // namespace accrue::nn
