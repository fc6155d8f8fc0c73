#include <csignal>
#include <cstdio>
#include <utility>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/source_line.h>
#include <accrue/kernels/simt/stream.h>

namespace accrue::simt {
namespace {

thread_local int this_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

std::recursive_mutex& mutex() {
  static auto* const instance = new std::recursive_mutex;
  return *instance;
}

void on_segmentation_fault(int number, siginfo_t* info, void*) {
  std::signal(number, SIG_DFL);  // the faulting access runs again and ends the program
  if (!Arena::contains(info->si_addr)) return;
  guard_device_memory(false);
  std::fputs(join("simt: ", name_of(Fault::device_pointer), ": host code touches ",
                  describe_address(info->si_addr), "\n")
                 .c_str(),
             stderr);
  raise(number);
}

}  // namespace

Executor& executor() {
  static auto* const instance = new Executor;
  return *instance;
}

Entered::Entered() { mutex().lock(); }
Entered::~Entered() { mutex().unlock(); }

int current_device() { return this_device; }
void set_current_device(int device) { this_device = device; }

cudaError_t fail(cudaError_t error) { return last_error = error; }

cudaError_t outcome() {
  const cudaError_t failure = executor().device(this_device).failure;
  return failure == cudaSuccess ? cudaSuccess : fail(failure);
}

void report_call(const std::string& call, const std::string& what, const std::string& right) {
  if (first_time(Fault::bad_call, std::hash<std::string>{}(call + what))) {
    Finding(Fault::bad_call, call + ": " + what).report(right);
  }
}

cudaError_t refuse(const std::string& call, const std::string& what, const std::string& right,
                   cudaError_t error) {
  report_call(call, what, right);
  return fail(error);
}

void fail_device(int device, cudaError_t error) {
  cudaError_t& failure = executor().device(device).failure;
  if (failure == cudaSuccess) failure = error;
}

void catch_host_access() {
  struct sigaction action {};
  action.sa_sigaction = on_segmentation_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

void set_schedule(const Schedule& schedule) {
  const Entered entered;
  run_everything();
  if (schedule.guard_host != executor().schedule.guard_host) {
    guard_device_memory(schedule.guard_host);
  }
  executor().schedule = schedule;
}

Schedule schedule() {
  const Entered entered;
  return executor().schedule;
}

void set_patience(uint64_t accesses) {
  const Entered entered;
  executor().patience = accesses;
}

Counts counts() {
  const Entered entered;
  return executor().counts;
}

void reset() {
  const Entered entered;
  drop_everything();
  take_reports();
  executor().counts = {};
  for (int device = 0; device < kDevices; ++device) {
    executor().device(device).failure = cudaSuccess;
  }
  last_error = cudaSuccess;
}

}  // namespace accrue::simt

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  accrue::simt::last_error = cudaSuccess;  // a failure of the device stays
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const accrue::simt::Entered entered;
  accrue::simt::outcome();
  return accrue::simt::last_error;
}
