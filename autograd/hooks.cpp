#include <algorithm>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/hooks.h>

namespace accrue {
namespace {

template <class Hook>
void erase(HookList<Hook>& hooks, const std::shared_ptr<void>& hook) {
  std::erase_if(hooks, [&](const auto& h) { return std::static_pointer_cast<void>(h) == hook; });
}

}  // namespace

void HookHandle::remove() {
  const std::shared_ptr<void> hook = hook_.lock();
  if (!hook) return;
  erase(target_->hooks, hook);
  if (target_->is_leaf()) erase(static_cast<Leaf&>(*target_).after_accumulate, hook);
}

HookHandle register_hook(const Tensor& x, GradHook hook) {
  const Ref<GradTarget> target = edge_to(x);
  check<AutogradError>(bool(target),
                       "register_hook: the tensor does not require grad, so no "
                       "gradient will ever come; call set_requires_grad() first");
  auto shared = std::make_shared<GradHook>(std::move(hook));
  target->hooks.push_back(shared);
  return {target, shared};
}

HookHandle after_accumulate(const Tensor& leaf, LeafHook hook) {
  Leaf* meta = leaf_of(leaf);
  check<AutogradError>(meta && meta->requires_grad,
                       "after_accumulate: the tensor is not a leaf that requires grad; only such a "
                       "leaf has a .grad that accumulates");
  auto shared = std::make_shared<LeafHook>(std::move(hook));
  meta->after_accumulate.push_back(shared);
  return {Ref<GradTarget>(meta), shared};
}

Tensor detail::run_hooks(const HookList<GradHook>& hooks, Tensor g) {
  if (hooks.empty()) return g;
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): a hook may remove itself
  const auto calls = hooks;
  for (const auto& hook : calls) {
    if (!g.sole_owner() || layout::has_overlap(g.layout())) {
      Tensor own = Tensor::empty(g.shape(), g.dtype(), g.device());
      kernels::copy(g, into(own));
      g = std::move(own);
    }
    Tensor replaced = (*hook)(g);
    if (!replaced.defined()) continue;
    check<AutogradError>(replaced.shape() == g.shape() && replaced.dtype() == g.dtype(),
                         "register_hook: a hook returned ", replaced.dtype(), " ", replaced.shape(),
                         " for a gradient of ", g.dtype(), " ", g.shape(),
                         "; both must stay the same");
    g = std::move(replaced);
  }
  return g;
}

}  // namespace accrue
