#include <accrue/autograd/saved.h>

namespace accrue {
namespace {
thread_local int64_t bytes = 0;
thread_local const char* running = "backward";
}  // namespace

Saved& Saved::operator=(const Tensor& x) {
  if (!x.defined()) {
    storage_ = nullptr;
    return *this;
  }
  storage_ = x.impl().storage;
  layout_ = x.layout();
  dtype_ = x.dtype();
  version_ = x.version();
  bytes += x.numel() * static_cast<int64_t>(size_of(dtype_));
  return *this;
}

void Saved::check_version() const {
  check<AutogradError>(storage_->version() == version_, running, ": a tensor of shape ",
                       layout_.shape, " saved for backward is at version ", storage_->version(),
                       ", needed is version ", version_,
                       "; it was changed in place after use: clone it first, or use the "
                       "out-of-place operator");
}

Tensor Saved::get() const {
  if (!storage_) return {};
  check_version();
  return Tensor(make_ref<TensorImpl>(storage_, layout_, dtype_));
}

Saved::operator ConstView() const {
  if (!storage_) return {};
  check_version();
  return {static_cast<const char*>(storage_->data()) +
              layout_.offset * static_cast<int64_t>(size_of(dtype_)),
          layout_.shape, layout_.strides, dtype_, storage_->device()};
}

void detail::SavedBytes::start() { bytes = 0; }
int64_t detail::SavedBytes::total() { return bytes; }

detail::RunningOp::RunningOp(const char* name) : before_(running) { running = name; }
detail::RunningOp::~RunningOp() { running = before_; }

}  // namespace accrue
