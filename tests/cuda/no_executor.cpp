// What tests/cuda asks of the executor, where a GPU is the device: there is one schedule, nothing
// is found, and nobody counts. Tests of numbers of launches are for the executor.
#include <accrue/kernels/simt/control.h>

namespace accrue::simt {

void set_schedule(const Schedule&) {}
Schedule schedule() { return {}; }
std::vector<Report> take_reports() { return {}; }
void reset() {}
void set_echo(bool) {}
void set_patience(uint64_t) {}
void name_allocation(const void*, const std::string&) {}
Counts counts() { return {}; }

}  // namespace accrue::simt
