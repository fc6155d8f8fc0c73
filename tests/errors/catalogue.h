// The error catalogue: wrong calls of the whole public interface, and what their messages must say.
//
// A row is data: the call, the exact exception, the name its text begins with, the values it must
// show, and the words that say what would be right. catalogue_test.cpp makes each call in a World
// of its own and scores it; a new wrong call is a new row in one of the *_errors.cpp.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include <accrue/accrue.h>

namespace accrue::test {

/// Tensors of every kind, a model and an optimizer, all with a history: what a wrong call may get,
/// and must not change.
struct World {
  World();

  Tensor a, b;                        ///< float32 [2, 3] and [2, 4], leaves with gradients
  Tensor plain;                       ///< float32 [2, 3]
  Tensor wide;                        ///< float32 [2, 3] whose rows share memory
  Tensor cube;                        ///< float32 [2, 3, 4]
  Tensor none;                        ///< float32 [2, 0]
  Tensor real64;                      ///< float64 [2, 3]
  Tensor whole;                       ///< int64 [3]: 0, 1, 2
  Tensor flags;                       ///< bool [2, 3]
  Tensor images;                      ///< float32 [1, 2, 4, 4]
  Tensor kernels;                     ///< float32 [4, 2, 3, 3]
  Tensor computed;                    ///< tanh(a), with its graph
  std::shared_ptr<nn::Linear> layer;  ///< 3 to 2
  std::unique_ptr<optim::SGD> sgd;    ///< of the layer, after a step with momentum

  /// Everything in it as text: values, versions, gradients, state, and the random generator.
  std::string state() const;
};

struct WrongCall {
  std::string name;
  bool (*exactly)(const std::exception&);
  const char* begins;              ///< the operator or class, without the colon
  std::vector<const char*> shows;  ///< the values that are wrong
  const char* rule;                ///< what would be right, or what to do
  std::function<void(World&)> call;
};

/// A row whose exception is E itself, no relative of it.
template <class E>
WrongCall wrong(const char* name, const char* begins, std::vector<const char*> shows,
                const char* rule, std::function<void(World&)> call) {
  static_assert(std::is_base_of_v<Error, E>);
  return {name,   [](const std::exception& e) { return typeid(e) == typeid(E); },
          begins, std::move(shows),
          rule,   std::move(call)};
}

std::vector<WrongCall> core_errors();
std::vector<WrongCall> shape_errors();
std::vector<WrongCall> op_errors();
std::vector<WrongCall> autograd_errors();
std::vector<WrongCall> nn_errors();
std::vector<WrongCall> optim_errors();
std::vector<WrongCall> device_errors();

}  // namespace accrue::test
