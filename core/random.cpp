#include <cmath>
#include <numbers>
#include <utility>

#include <accrue/core/convert.h>
#include <accrue/core/factories.h>
#include <accrue/core/random.h>
#include <accrue/core/transfer.h>

namespace accrue {
namespace {

/// [0, 1) with the precision of T: a cast from float could round up to 1.
template <class T>
double unit(Philox philox, int64_t i) {
  if constexpr (std::is_same_v<T, double>) return unit_double(philox.bits64(i));
  if constexpr (std::is_same_v<T, bfloat16>) return (philox.bits32(i) >> 24) * 0x1p-8;
  if constexpr (std::is_same_v<T, float16>) return (philox.bits32(i) >> 21) * 0x1p-11;
  return static_cast<double>(unit_float(philox.bits32(i)));
}

/// Elements 2 b and 2 b + 1 are the two coordinates of one normal point in the plane.
double standard_normal(Philox philox, int64_t i) {
  const PhiloxWords block = philox.block(static_cast<uint64_t>(i) / 2);
  const double radius = std::sqrt(-2 * std::log(1 - unit_double(block.half(0))));
  const double angle = 2 * std::numbers::pi * unit_double(block.half(1));
  return radius * (i % 2 ? std::sin(angle) : std::cos(angle));
}

/// A number in [0, n), n = 0 standing for 2^64. Favours none by more than n / 2^64.
uint64_t below(uint64_t n, uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  return n == 0 ? bits : static_cast<uint64_t>(Wide{bits} * n >> 64);
}

/// Whether T has this integer and all between it and 0.
template <class T>
bool holds(int64_t value) {
  if constexpr (std::is_integral_v<T>)
    return std::in_range<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>(value) &&
           (!std::is_same_v<T, bool> || value <= 1);
  constexpr int digits = std::is_same_v<T, double>    ? 53
                         : std::is_same_v<T, float>   ? 24
                         : std::is_same_v<T, float16> ? 11
                                                      : 8;
  return std::abs(static_cast<double>(value)) <= std::ldexp(1.0, digits);
}

/// x[i] = f.template operator()<T>(bits, i) in row-major order.
template <class F>
void fill(const char* op, Tensor& x, Generator& generator, F&& f) {
  check<ShapeError>(!layout::has_overlap(x.layout()), op, ": elements of the tensor of shape ",
                    x.shape(), " and strides ", x.strides(), " share memory; clone it first");
  const HostImage image(x, HostImage::Use::rewrite);
  visit_float(x.dtype(), [&, bits = generator.next_call()]<class T>() {
    T* out = image.tensor().data<T>();
    int64_t i = 0;
    layout::for_each_offset(x.layout(),
                            [&](int64_t at) { out[at] = f.template operator()<T>(bits, i++); });
  });
  image.write_back();
  x.storage().bump_version();
}

void check_range(const char* op, double low, double high) {
  check<ValueError>(std::isfinite(high - low) && low <= high, op, ": from ", low, " to ", high,
                    "; the bounds must be finite and in order");
}

void check_normal(const char* op, double mean, double std) {
  check<ValueError>(std::isfinite(mean) && std::isfinite(std) && std >= 0, op, ": mean ", mean,
                    " and standard deviation ", std, "; both must be finite, the second 0 or more");
}

void check_floating(const char* op, DType dtype) {
  check<DTypeError>(is_floating(dtype), op, ": dtype ", dtype,
                    "; random reals need a floating point dtype");
}

/// Where random reals go, checked under the name that a user called.
Tensor room(const char* op, const Dims& shape, DType dtype) {
  check_floating(op, dtype);
  checked_numel(op, shape, static_cast<int64_t>(size_of(dtype)));
  return empty(shape, dtype, Device::cpu());
}

}  // namespace

Generator& default_generator() {
  static Generator generator(0);
  return generator;
}

void manual_seed(uint64_t seed) { default_generator().set_state({.seed = seed, .call = 0}); }

void uniform_(Tensor& x, double low, double high, Generator& generator) {
  check_range("uniform_", low, high);
  check_floating("uniform_", x.dtype());
  fill("uniform_", x, generator, [=]<class T>(Philox bits, int64_t i) {
    const T value = convert<T>(low + unit<T>(bits, i) * (high - low));
    return static_cast<double>(value) < high ? value : convert<T>(low);  // rounded up to high
  });
}

void normal_(Tensor& x, double mean, double std, Generator& generator) {
  check_normal("normal_", mean, std);
  check_floating("normal_", x.dtype());
  fill("normal_", x, generator, [=]<class T>(Philox bits, int64_t i) {
    return convert<T>(mean + std * standard_normal(bits, i));
  });
}

Tensor uniform(const Dims& shape, double low, double high, DType dtype, Device device,
               Generator& generator) {
  check_range("uniform", low, high);
  Tensor host = room("uniform", shape, dtype);
  uniform_(host, low, high, generator);
  return to_device(host, device);
}

Tensor normal(const Dims& shape, double mean, double std, DType dtype, Device device,
              Generator& generator) {
  check_normal("normal", mean, std);
  Tensor host = room("normal", shape, dtype);
  normal_(host, mean, std, generator);
  return to_device(host, device);
}

Tensor rand(const Dims& shape, DType dtype, Device device, Generator& generator) {
  Tensor host = room("rand", shape, dtype);
  uniform_(host, 0, 1, generator);
  return to_device(host, device);
}

Tensor randn(const Dims& shape, DType dtype, Device device, Generator& generator) {
  Tensor host = room("randn", shape, dtype);
  normal_(host, 0, 1, generator);
  return to_device(host, device);
}

Tensor randint(int64_t low, int64_t high, const Dims& shape, DType dtype, Device device,
               Generator& generator) {
  check<ValueError>(low < high, "randint: from ", low, " to ", high,
                    "; there must be an integer between, low < high");
  visit_any(dtype, [&]<class T>() {
    check<ValueError>(holds<T>(low) && holds<T>(high - 1), "randint: ", dtype,
                      " does not hold every integer from ", low, " to ", high - 1,
                      "; take a wider dtype");
  });
  Tensor host = empty(shape, dtype, Device::cpu());
  const auto first = static_cast<uint64_t>(low);
  const uint64_t count = static_cast<uint64_t>(high) - first;
  visit_any(dtype, [&, philox = generator.next_call()]<class T>() {
    T* out = host.data<T>();
    for (int64_t i = 0; i < host.numel(); ++i) {
      const auto value = static_cast<int64_t>(first + below(count, philox.bits64(i)));
      if constexpr (std::is_integral_v<T>)
        out[i] = static_cast<T>(value);
      else
        out[i] = convert<T>(static_cast<double>(value));
    }
  });
  return to_device(host, device);
}

Tensor randperm(int64_t n, DType dtype, Device device, Generator& generator) {
  check<ValueError>(n >= 0, "randperm: ", n, " numbers; there must be 0 or more");
  visit_any(dtype, [&]<class T>() {
    check<ValueError>(n == 0 || holds<T>(n - 1), "randperm: ", dtype,
                      " does not hold every integer up to ", n - 1, "; take a wider dtype");
  });
  Tensor host = arange(n, dtype, Device::cpu());
  visit_any(dtype, [&, philox = generator.next_call()]<class T>() {
    T* out = host.data<T>();
    for (int64_t i = n - 1; i > 0; --i)
      std::swap(out[i], out[below(static_cast<uint64_t>(i) + 1, philox.bits64(i))]);
  });
  return to_device(host, device);
}

}  // namespace accrue
