#include <accrue/core/factories.h>

#include <accrue/autograd/ops/matmul.h>
#include <accrue/autograd/ops/shape.h>

#include <accrue/nn/attention.h>
#include <accrue/nn/dropout.h>
#include <accrue/nn/init.h>

namespace accrue::nn {

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                                       const MultiheadAttentionOptions& options)
    : embed_dim_(embed_dim), num_heads_(num_heads), dropout_(options.dropout) {
  check<ValueError>(embed_dim > 0 && num_heads > 0 && embed_dim % num_heads == 0,
                    "MultiheadAttention: embed_dim is ", embed_dim, " and num_heads ", num_heads,
                    "; both must be positive and num_heads divide embed_dim");
  check_probability("MultiheadAttention", dropout_);
  Tensor start = Tensor::empty({3 * embed_dim, embed_dim});
  init::xavier_uniform_(start);
  register_parameter("in_proj_weight", in_proj_weight, start);
  register_parameter("in_proj_bias", in_proj_bias,
                     options.bias ? zeros({3 * embed_dim}) : Tensor());
  out_proj = add<Linear>("out_proj", embed_dim, embed_dim, LinearOptions{.bias = options.bias});
  if (options.bias) init::zeros_(out_proj->bias);
}

Tensor MultiheadAttention::forward(const Tensor& x, const AttentionOptions& options) {
  check<ShapeError>(x.dim() == 3, "MultiheadAttention: the input has shape ", x.shape(),
                    "; it must be [batch, time, features]");
  const Tensor qkv = linear(x, in_proj_weight, in_proj_bias);
  return (*out_proj)(packed_attention(qkv, num_heads_, with_dropout(options)));
}

Tensor MultiheadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const AttentionOptions& options) {
  const auto project = [&](const Tensor& x, int64_t which) {
    const int64_t first = which * embed_dim_;
    return linear(x, narrow(in_proj_weight, 0, first, embed_dim_),
                  in_proj_bias.defined() ? narrow(in_proj_bias, 0, first, embed_dim_) : Tensor());
  };
  return attend(project(query, 0), project(key, 1), project(value, 2), options);
}

// [B, T, C] to [B, heads, T, C / heads], attended, and back.
Tensor MultiheadAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const AttentionOptions& options) {
  check<ShapeError>(q.dim() == 3 && k.dim() == 3 && v.dim() == 3,
                    "MultiheadAttention: query, key and value have shapes ", q.shape(), ", ",
                    k.shape(), " and ", v.shape(), "; they must be [batch, time, features]");
  const auto heads = [&](const Tensor& x) {
    return transpose(reshape(x, {x.size(0), x.size(1), num_heads_, embed_dim_ / num_heads_}), 1, 2);
  };
  const Tensor y =
      scaled_dot_product_attention(heads(q), heads(k), heads(v), with_dropout(options));
  return (*out_proj)(reshape(transpose(y, 1, 2), {q.size(0), q.size(1), embed_dim_}));
}

AttentionOptions MultiheadAttention::with_dropout(AttentionOptions options) const {
  options.dropout_p = training() ? dropout_ : 0;
  return options;
}

std::string MultiheadAttention::extra_repr() const {
  return detail::concat("embed_dim=", embed_dim_, ", num_heads=", num_heads_,
                        ", dropout=", dropout_);
}

}  // namespace accrue::nn
