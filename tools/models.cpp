#include "tools/models.h"

#include <accrue/autograd/ops.h>

#include <accrue/nn/conv.h>
#include <accrue/nn/linear.h>

namespace accrue::tools {
namespace {

struct Mlp final : nn::Module {
  std::shared_ptr<nn::Linear> fc1 = add<nn::Linear>("fc1", 784, 256);
  std::shared_ptr<nn::Linear> fc2 = add<nn::Linear>("fc2", 256, 128);
  std::shared_ptr<nn::Linear> fc3 = add<nn::Linear>("fc3", 128, 10);

  Tensor forward(const Tensor& images) override {
    const Tensor h = relu((*fc1)(flatten(images, 1)));
    return (*fc3)(relu((*fc2)(h)));
  }
};

struct Cnn final : nn::Module {
  std::shared_ptr<nn::Conv2d> conv1 =
      add<nn::Conv2d>("conv1", 1, 16, 3, Conv2dOptions{.padding = {1, 1}});
  std::shared_ptr<nn::Conv2d> conv2 =
      add<nn::Conv2d>("conv2", 16, 32, 3, Conv2dOptions{.padding = {1, 1}});
  std::shared_ptr<nn::Linear> fc1 = add<nn::Linear>("fc1", 32 * 7 * 7, 128);
  std::shared_ptr<nn::Linear> fc2 = add<nn::Linear>("fc2", 128, 10);

  Tensor forward(const Tensor& images) override {
    Tensor h = max_pool2d(relu((*conv1)(images)), {.kernel = {2, 2}});
    h = max_pool2d(relu((*conv2)(h)), {.kernel = {2, 2}});
    return (*fc2)(relu((*fc1)(flatten(h, 1))));
  }
};

}  // namespace

std::shared_ptr<nn::Module> make_model(const std::string& name) {
  if (name == "mlp") return std::make_shared<Mlp>();
  if (name == "cnn") return std::make_shared<Cnn>();
  throw ValueError("--model: '" + name + "' is unknown; it is mlp or cnn");
}

}  // namespace accrue::tools
