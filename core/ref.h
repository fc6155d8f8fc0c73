// Shared ownership with the count inside the object: what Tensor, Storage and Node are held by.
//
// A Ref is one pointer wide and, when the last owner is also the only one (the usual case on a
// tape), is released without a locked instruction. Small objects are recycled per thread, so a
// chain of tiny operators does not spend its time in malloc: see small_object.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace accrue {

namespace detail {
void* allocate_small(size_t bytes);
void free_small(void* memory, size_t bytes) noexcept;
}  // namespace detail

/// Base of what a Ref may hold. The count starts at zero; the first Ref makes it one.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

  int64_t use_count() const { return count_.load(std::memory_order_acquire); }
  void add_owner() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void drop_owner() const {
    if (leave()) delete this;
  }
  /// Gives one ownership up; true if it was the last, and the object is the caller's to delete.
  bool leave() const {
    return count_.load(std::memory_order_acquire) == 1 ||
           count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  /// The first owner of an object that only its maker knows: no locked instruction.
  void first_owner() const { count_.store(1, std::memory_order_relaxed); }

  static void* operator new(size_t bytes) { return detail::allocate_small(bytes); }
  static void operator delete(void* memory, size_t bytes) { detail::free_small(memory, bytes); }

 private:
  mutable std::atomic<int64_t> count_{0};
};

/// An owner of a T (a RefCounted). Copying shares, moving hands over.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->add_owner();
  }
  /// Takes an object that nobody owns yet.
  static Ref adopt(T* fresh) {
    fresh->first_owner();
    Ref ref;
    ref.object_ = fresh;
    return ref;
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  template <class U>
  Ref(Ref<U>&& other) noexcept : object_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->drop_owner();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }
  /// Gives up ownership without releasing.
  T* detach() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace accrue
