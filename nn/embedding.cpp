#include <accrue/core/random.h>

#include <accrue/autograd/ops/index.h>

#include <accrue/nn/embedding.h>
#include <accrue/nn/init.h>

namespace accrue::nn {

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options)
    : padding_idx_(options.padding_idx) {
  check<ValueError>(num_embeddings > 0 && embedding_dim > 0, "Embedding: num_embeddings is ",
                    num_embeddings, " and embedding_dim ", embedding_dim,
                    "; they must be at least 1");
  check<ValueError>(padding_idx_ >= -1 && padding_idx_ < num_embeddings,
                    "Embedding: padding_idx is ", padding_idx_, "; it must be below ",
                    num_embeddings, ", or -1 for none");
  Tensor start = randn({num_embeddings, embedding_dim});
  if (padding_idx_ >= 0) {
    Tensor row = start.alias(layout::select(start.layout(), 0, padding_idx_));
    init::zeros_(row);
  }
  register_parameter("weight", weight, start);
}

Tensor Embedding::forward(const Tensor& ids) { return embedding(weight, ids, padding_idx_); }

std::string Embedding::extra_repr() const {
  std::string text = detail::concat(weight.size(0), ", ", weight.size(1));
  if (padding_idx_ >= 0) text += detail::concat(", padding_idx=", padding_idx_);
  return text;
}

}  // namespace accrue::nn
