// The three models the laws are shown on, and the one way they are trained here.
#pragma once
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tools/models.h"

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/autograd/ops.h>

#include <accrue/accrue.h>

namespace accrue::laws {

/// A model, a batch of 48 for it, and the sum of the losses of rows [start, start + size).
struct Subject {
  std::shared_ptr<nn::Module> model;
  std::function<Tensor(int64_t start, int64_t size)> loss;

  void accumulate(const std::vector<int64_t>& sizes) const {
    int64_t start = 0;
    for (int64_t size : sizes) {
      loss(start, size).backward();
      start += size;
    }
  }
  /// Every gradient, byte for byte, one after another.
  std::vector<float> gradients() const {
    std::vector<float> all;
    for (const Tensor& p : model->parameters()) {
      const std::vector<float> g = p.grad().to_vector<float>();
      all.insert(all.end(), g.begin(), g.end());
    }
    return all;
  }
};

inline constexpr int64_t kBatch = 48;
/// The rows that a law is shown on, and those of a small micro-batch: few where the executor plays
/// the device, which checks every access.
inline int64_t rows() { return default_device().is_cpu() ? kBatch : 8; }
inline int64_t micro_rows() { return rows() / 8; }

/// "mlp" and "cnn" of the accrue command on images of noise; "transformer": one encoder layer on
/// sequences of 7 with an attention mask.
inline Subject make_subject(const std::string& name) {
  manual_seed(7);
  Subject subject;
  if (name == "transformer") {
    constexpr int64_t steps = 7;
    constexpr int64_t width = 16;
    auto layer = std::make_shared<nn::TransformerEncoderLayer>(
        width, 4, nn::TransformerOptions{.dim_feedforward = 32, .dropout = 0});
    const Tensor x = randn({kBatch, steps, width});
    const Tensor target = randn({kBatch, steps, width});
    subject.model = layer;
    subject.loss = [=](int64_t start, int64_t size) {
      return mse_loss((*layer)(narrow(x, 0, start, size)), narrow(target, 0, start, size),
                      Reduction::sum);
    };
    return subject;
  }
  const auto model = tools::make_model(name);
  const Tensor x = randn({kBatch, 1, 28, 28});
  const Tensor target = randint(0, 10, {kBatch});
  subject.model = model;
  subject.loss = [=](int64_t start, int64_t size) {
    return cross_entropy((*model)(narrow(x, 0, start, size)), narrow(target, 0, start, size),
                         {.reduction = Reduction::sum});
  };
  return subject;
}

/// Threads for a test's lifetime.
class Threads {
 public:
  explicit Threads(int n) : before_(get_num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace accrue::laws
