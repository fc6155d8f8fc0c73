// What the compiler calls before undefined behaviour: -fsanitize=bounds, alignment,
// signed-integer-overflow, integer-divide-by-zero and shift in kernel files. As with hooks.cpp the
// sanitizer's own library is not linked. The structs are those that the compiler lays down.
#include <cstdint>
#include <string>

#include <accrue/kernels/simt/access.h>
#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/report.h>

namespace accrue::simt {
namespace {

struct CompilersSite {
  const char* file;
  uint32_t line;
  uint32_t column;
  Site site() const { return {file, line}; }
};
struct CompilersType {
  uint16_t kind;  // 0 is an integer; then bit 0 of info says signed
  uint16_t info;
  char name[1];  // in quotes, and as long as it is
};
struct OutOfBounds {
  CompilersSite at;
  const CompilersType* array;
  const CompilersType* index;
};
struct TypeMismatch {
  CompilersSite at;
  const CompilersType* type;
  uint8_t log_alignment;
  uint8_t kind;
};
struct Overflow {
  CompilersSite at;
  const CompilersType* type;
};
struct ShiftOutOfBounds {
  CompilersSite at;
  const CompilersType* left;
  const CompilersType* right;
};

std::string type_name(const CompilersType& type) { return &type.name[0]; }

std::string number(const CompilersType& type, uint64_t value) {
  return (type.info & 1) != 0 ? std::to_string(static_cast<int64_t>(value)) : std::to_string(value);
}

void report_arithmetic(const CompilersSite& at, const std::string& what) {
  if (!first_time(Fault::arithmetic, hash(at.site()))) return;
  Finding(Fault::arithmetic, what)
      .kernel()
      .thread()
      .line("at", text_of(at.site()))
      .report("indices are `long`; a divisor and a shift are checked first");
}

void report_overflow(const Overflow& data, const char* sign, uint64_t left, uint64_t right) {
  report_arithmetic(data.at, join(number(*data.type, left), " ", sign, " ",
                                  number(*data.type, right), " is no ", type_name(*data.type)));
}

}  // namespace
}  // namespace accrue::simt

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {

void __ubsan_handle_out_of_bounds(accrue::simt::OutOfBounds* data, uint64_t index) {
  using namespace accrue::simt;
  const Site at = data->at.site();
  if (first_time(Fault::out_of_bounds, hash(at))) {
    Finding(Fault::out_of_bounds, join("index ", number(*data->index, index),
                                       " of an array of type ", type_name(*data->array)))
        .kernel()
        .thread()
        .line("at", text_of(at))
        .report("an index below the array's length");
  }
  if (running) running->kill(cudaErrorIllegalAddress);
}

void __ubsan_handle_type_mismatch_v1(accrue::simt::TypeMismatch* data, uint64_t address) {
  using namespace accrue::simt;
  const size_t alignment = size_t{1} << data->log_alignment;
  if (address % alignment == 0) return;
  const Site at = data->at.site();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the compiler passes one
  report_misaligned(reinterpret_cast<const void*>(address), alignment,
                    "a " + type_name(*data->type), text_of(at), hash(at));
  if (running) running->kill(cudaErrorMisalignedAddress);
}

void __ubsan_handle_add_overflow(accrue::simt::Overflow* data, uint64_t a, uint64_t b) {
  report_overflow(*data, "+", a, b);
}
void __ubsan_handle_sub_overflow(accrue::simt::Overflow* data, uint64_t a, uint64_t b) {
  report_overflow(*data, "-", a, b);
}
void __ubsan_handle_mul_overflow(accrue::simt::Overflow* data, uint64_t a, uint64_t b) {
  report_overflow(*data, "*", a, b);
}
void __ubsan_handle_divrem_overflow(accrue::simt::Overflow* data, uint64_t a, uint64_t b) {
  using accrue::simt::running;
  report_overflow(*data, "/", a, b);
  if (running) running->kill(cudaErrorLaunchFailure);  // the division itself would end the program
}
void __ubsan_handle_negate_overflow(accrue::simt::Overflow* data, uint64_t a) {
  report_overflow(*data, "-", 0, a);
}
void __ubsan_handle_shift_out_of_bounds(accrue::simt::ShiftOutOfBounds* data, uint64_t a,
                                        uint64_t b) {
  using namespace accrue::simt;
  report_arithmetic(data->at, join(number(*data->left, a), " shifted by ", number(*data->right, b),
                                   " is no ", type_name(*data->left)));
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
