// Prints tensors as NumPy does: aligned columns, one bracket a dimension, "..." in the middle of
// what is long.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <ostream>

#include <accrue/core/transfer.h>

namespace accrue {
namespace {

constexpr int64_t kSummaryAbove = 1000;  // elements
constexpr int64_t kEdge = 3;             // shown at either end of a long dimension
constexpr int kPrecision = 4;
constexpr size_t kLineWidth = 80;

template <class T>
std::string print_number(const char* format, int precision, T value) {
  char text[400];  // %f of the largest double has 309 digits
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

/// How many digits after the point are left when trailing zeros go; `number` may have an exponent.
int fraction_digits(const std::string& number) {
  const size_t point = number.find('.');
  if (point == std::string::npos) return 0;
  const size_t end = std::min(number.find('e'), number.size());
  size_t last = end;
  while (number[last - 1] == '0') --last;
  return static_cast<int>(last - point - 1);
}

/// One way of writing for all shown numbers of a tensor.
class RealFormat {
 public:
  explicit RealFormat(const std::vector<double>& values) {
    double largest = 0;
    double smallest = INFINITY;
    for (const double v : values) {
      if (!std::isfinite(v) || v == 0) continue;
      largest = std::max(largest, std::abs(v));
      smallest = std::min(smallest, std::abs(v));
    }
    scientific_ = largest >= 1e8 || smallest < 1e-4 || largest > 1000 * smallest;
    for (const double v : values)
      if (std::isfinite(v)) digits_ = std::max(digits_, fraction_digits(print(v, kPrecision)));
  }

  std::string operator()(double v) const {
    if (!std::isfinite(v)) return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf";
    std::string text = print(v, digits_);
    if (scientific_) return text;
    for (size_t i = text.size() - 1; text[i] == '0'; --i)
      text[i] = ' ';  // keeps the points aligned
    return text;
  }

 private:
  std::string print(double v, int digits) const {
    return print_number(scientific_ ? "%#.*e" : "%#.*f", digits, v);
  }
  bool scientific_ = false;
  int digits_ = 0;
};

/// The elements that are shown, as text, row by row.
class Printer {
 public:
  explicit Printer(const Tensor& x) : shape_(x.shape()), summary_(x.numel() > kSummaryAbove) {
    const std::vector<int64_t> offsets = shown(x.strides());
    visit_any(x.dtype(), [&]<class T>() {
      const T* data = x.data<T>();
      if constexpr (is_floating(dtype_of<T>())) {
        std::vector<double> values;
        values.reserve(offsets.size());
        for (const int64_t at : offsets) values.push_back(static_cast<double>(data[at]));
        const RealFormat format(values);
        for (const double v : values) items_.push_back(format(v));
      } else {
        for (const int64_t at : offsets) {
          if constexpr (std::is_same_v<T, bool>)
            items_.emplace_back(data[at] ? "True" : "False");
          else
            items_.push_back(std::to_string(data[at]));
        }
      }
    });
    for (const std::string& item : items_) width_ = std::max(width_, item.size());
  }

  const std::string& first() const { return items_.front(); }
  std::string text() {
    out_.clear();
    print(0);
    return out_;
  }

 private:
  bool is_cut(int d) const { return summary_ && shape_[d] > 2 * kEdge; }

  /// Where the shown elements lie, row by row.
  std::vector<int64_t> shown(const Dims& strides) const {
    std::vector<int64_t> offsets = {0};
    for (int d = 0; d < shape_.size(); ++d) {
      std::vector<int64_t> finer;
      for (const int64_t offset : offsets)
        for (int64_t i = 0; i < shape_[d]; ++i) {
          if (is_cut(d) && i == kEdge) i = shape_[d] - kEdge;
          finer.push_back(offset + i * strides[d]);
        }
      offsets = std::move(finer);
    }
    return offsets;
  }

  void print(int d) {
    if (d == shape_.size()) {
      out_.append(width_ - items_[next_].size(), ' ').append(items_[next_]);
      ++next_;
      return;
    }
    out_ += '[';
    for (int64_t i = 0; i < shape_[d]; ++i) {
      if (i > 0) separate(d);
      if (is_cut(d) && i == kEdge) {
        out_ += "...";
        separate(d);
        i = shape_[d] - kEdge;
      }
      print(d + 1);
    }
    out_ += ']';
  }

  /// A comma, then a new line for each dimension that ends; in a row only when it is full.
  void separate(int d) {
    const int ends = shape_.size() - 1 - d;
    out_ += ',';
    const size_t column = out_.size() - (out_.rfind('\n') + 1);
    if (ends == 0 && column + width_ + 2 <= kLineWidth) {
      out_ += ' ';
      return;
    }
    out_.append(static_cast<size_t>(std::max(ends, 1)), '\n')
        .append(static_cast<size_t>(d) + 1, ' ');
  }

  Dims shape_;
  bool summary_;
  std::vector<std::string> items_;
  size_t width_ = 0;
  size_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return "Tensor()";
  Printer printer(to_device(*this, Device::cpu()));
  if (dim() == 0) {
    std::string number = printer.first();
    if (number.ends_with('.')) number += '0';
    return number;
  }
  std::string text = printer.text();
  if (numel() == 0 && dim() > 1) text = detail::concat("[], shape=", shape());
  if (dtype() != DType::float32 && dtype() != DType::int64 && dtype() != DType::boolean)
    text += detail::concat(", dtype=", dtype());
  return text;
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << x.to_string(); }

}  // namespace accrue
