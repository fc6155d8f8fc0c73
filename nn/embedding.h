// Embedding: a learned row for each id.
#pragma once
#include <accrue/nn/module.h>

namespace accrue::nn {

struct EmbeddingOptions {
  /// This row starts as zeros and gets no gradient; -1 for none.
  int64_t padding_idx = -1;
};

class Embedding : public Module {
 public:
  /// weight [ids, width] starts as N(0, 1). Throws ValueError for a size below 1 or a padding_idx
  /// outside.
  Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options = {});
  /// Ids, of any shape, to rows: [..] to [.., width].
  Tensor forward(const Tensor& ids) override;
  std::string extra_repr() const override;

  Tensor weight;

 private:
  int64_t padding_idx_;
};

}  // namespace accrue::nn
