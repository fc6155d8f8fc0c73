// MultiheadAttention: several attentions side by side, each over its share of the features.
//
// Parameters and initial values are PyTorch's; the batch comes first, always: [B, T, C]. A boolean
// mask is true where a query may look, as in scaled_dot_product_attention() and unlike PyTorch's
// module of this name. The dropout is the module's, whatever AttentionOptions says.
#pragma once
#include <accrue/autograd/ops/attention.h>

#include <accrue/nn/linear.h>

namespace accrue::nn {

struct MultiheadAttentionOptions {
  bool bias = true;
  double dropout = 0;  ///< of the attention's weights, while training
};

class MultiheadAttention : public Module {
 public:
  /// in_proj_weight [3C, C] starts by Glorot's uniform distribution, out_proj as a Linear does,
  /// the biases as zeros. Throws ValueError unless num_heads divides embed_dim and both are
  /// positive.
  MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                     const MultiheadAttentionOptions& options = {});

  /// x attends to itself: [B, T, C] to [B, T, C].
  Tensor forward(const Tensor& x) override { return forward(x, AttentionOptions{}); }
  Tensor forward(const Tensor& x, const AttentionOptions& options);
  /// query [B, T, C] attends to key and value, both [B, S, C]; options.mask broadcasts to
  /// [B, heads, T, S].
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionOptions& options = {});
  using Module::operator();
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionOptions& options = {}) {
    return forward(query, key, value, options);
  }
  std::string extra_repr() const override;

  Tensor in_proj_weight, in_proj_bias;
  std::shared_ptr<Linear> out_proj;

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);
  AttentionOptions with_dropout(AttentionOptions options) const;

  int64_t embed_dim_, num_heads_;
  double dropout_;
};

}  // namespace accrue::nn
