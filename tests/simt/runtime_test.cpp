// The part of the CUDA runtime that the executor offers: what it gives, and what it refuses.
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "tests/simt/cases.h"
#include "tests/simt/support.h"
#include <gmock/gmock.h>

namespace {

using accrue::simt::Fault;
using accrue::simt::set_schedule;
using accrue::simt::take_reports;
using testing::HasSubstr;

class Runtime : public SimtTest {
 protected:
  // The one report of what was just done.
  static void expect_report(Fault fault, const std::string& text) {
    const auto reports = take_reports();
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].fault, fault) << reports[0].text;
    EXPECT_THAT(reports[0].text, HasSubstr(text));
    accrue::simt::reset();
  }
};

TEST_F(Runtime, PresentsTwoDevices) {
  int count = 0, device = -1, version = 0, can = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1);
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(cudaDeviceGetAttribute(&version, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  EXPECT_EQ(version, properties.major);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  expect_report(Fault::bad_call, "cudaSetDevice: there is no device 2");
}

TEST_F(Runtime, ErrorsStayUntilTheyAreTaken) {
  cudaEvent_t a = nullptr;
  cudaEventCreate(&a);
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, a, a), cudaErrorInvalidResourceHandle);
  take_reports();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  cudaEventDestroy(a);
}

TEST_F(Runtime, ADeviceThatFailedStaysFailedAndTheOtherLives) {
  const OnDevice<float> x(std::vector<float>(10, 1));
  controls::scale(x.data(), 2, 11, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  const auto launches = accrue::simt::counts().launches;
  controls::scale(x.data(), 2, 10, nullptr);
  EXPECT_EQ(accrue::simt::counts().launches, launches);
  cudaSetDevice(1);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaSetDevice(0);
  expect_report(Fault::out_of_bounds, "40 bytes), 0 bytes past its end");
}

TEST_F(Runtime, MemoryIsCountedAndRunsOut) {
  size_t before = 0, during = 0, after = 0, total = 0;
  cudaMemGetInfo(&before, &total);
  {
    const OnDevice<char> x(12345);
    cudaMemGetInfo(&during, &total);
  }
  cudaMemGetInfo(&after, &total);
  EXPECT_EQ(before - during, 12345U);
  EXPECT_EQ(after, before);
  void* pointer = &before;
  EXPECT_EQ(cudaMalloc(&pointer, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
}

TEST_F(Runtime, ThePoolOfADeviceCountsItsBytes) {
  cudaMemPool_t pool = nullptr;
  uint64_t threshold = ~uint64_t{0}, got = 0, used = 0;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got), cudaSuccess);
  EXPECT_EQ(got, threshold);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  void* pointer = nullptr;
  cudaMallocAsync(&pointer, 100, nullptr);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got);
  EXPECT_EQ(got, used + 100);
  cudaFreeAsync(pointer, nullptr);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
}

TEST_F(Runtime, PointersSayWhereTheyAre) {
  const OnDevice<float> x(4);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 100), cudaSuccess);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, x.data() + 1);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  cudaPointerGetAttributes(&attributes, pinned);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  cudaPointerGetAttributes(&attributes, &attributes);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaErrorInvalidValue);
  expect_report(Fault::bad_call, "is no pinned memory");
}

TEST_F(Runtime, CopiesGoAllWays) {
  const std::vector<float> x = some_floats(10);
  const OnDevice<float> a(x), b(10);
  EXPECT_EQ(cudaMemcpy(b.data(), a.data(), 40, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(b.get(), x);
  EXPECT_EQ(cudaMemset(b.data(), 0, 20), cudaSuccess);
  EXPECT_EQ(b.get()[4], 0);
  EXPECT_EQ(b.get()[5], x[5]);
  std::vector<float> host(10);
  EXPECT_EQ(cudaMemcpy(host.data(), x.data(), 40, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host, x);
}

TEST_F(Runtime, PeersCopyAndReachEachOther) {
  const OnDevice<float> here(std::vector<float>{1, 2});
  cudaSetDevice(1);
  const OnDevice<float> there(2);
  EXPECT_EQ(cudaMemcpyPeer(there.data(), 1, here.data(), 0, 8), cudaSuccess);
  EXPECT_EQ(there.get(), (std::vector<float>{1, 2}));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  controls::scale(here.data(), 5, 2, nullptr);  // a kernel of device 1 on memory of device 0
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(0), cudaSuccess);
  cudaSetDevice(0);
  EXPECT_EQ(here.get()[1], 10);
  EXPECT_EQ(cudaMemcpyPeer(there.data(), 0, here.data(), 0, 8), cudaErrorInvalidValue);
  expect_report(Fault::wrong_device, "cudaMemcpyPeer: not on device 0");
}

TEST_F(Runtime, EventsMeasureTime) {
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  const OnDevice<float> x(std::vector<float>(1000, 1));
  cudaEventRecord(begin);
  controls::scale(x.data(), 2, 1000, nullptr);
  cudaEventRecord(end);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(end), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GT(milliseconds, 0);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

TEST_F(Runtime, PollingALazyStreamComesToAnEnd) {
  set_schedule({.lazy = true});
  int calls = 0;
  const auto count = [](void* n) { ++*static_cast<int*>(n); };
  for (int i = 0; i < 3; ++i) cudaLaunchHostFunc(nullptr, count, &calls);
  cudaEvent_t done = nullptr;
  cudaEventCreate(&done);
  cudaEventRecord(done);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  while (cudaEventQuery(done) == cudaErrorNotReady) {
  }
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess);
  cudaEventDestroy(done);
}

TEST_F(Runtime, StreamOrderedMemoryLivesInTheOrderOfItsStream) {
  for (const NamedSchedule& named : all_schedules()) {
    set_schedule(named.schedule);
    cudaStream_t s = nullptr;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    float* x = nullptr;
    cudaMallocAsync(&x, 400, s);
    cudaMemsetAsync(x, 0, 400, s);
    controls::scale(x, 2, 100, s);
    cudaFreeAsync(x, s);
    cudaStreamDestroy(s);
  }
}

TEST_F(Runtime, MemoryOfAnotherStreamIsNotThereYet) {
  set_schedule({.lazy = true});
  cudaStream_t s = nullptr;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  float* x = nullptr;
  cudaMallocAsync(&x, 400, s);
  controls::scale(x, 2, 100, nullptr);  // waits for nothing
  cudaStreamSynchronize(nullptr);
  cudaStreamDestroy(s);
  expect_report(Fault::out_of_bounds, "not yet allocated in the order of its stream");
}

TEST_F(Runtime, RefusesWrongFrees) {
  float* x = nullptr;
  cudaMalloc(&x, 400);
  EXPECT_EQ(cudaFree(x + 1), cudaErrorInvalidValue);
  expect_report(Fault::bad_call, "cudaFree: no begin of a live allocation");
  EXPECT_EQ(cudaFree(x), cudaSuccess);
  EXPECT_EQ(cudaFree(x), cudaErrorInvalidValue);
  expect_report(Fault::bad_call, "cudaFree: freed a second time");
  EXPECT_EQ(cudaFreeAsync(x, nullptr), cudaErrorInvalidValue);
  expect_report(Fault::bad_call, "cudaFreeAsync: freed a second time");
  EXPECT_EQ(cudaFree(&x), cudaErrorInvalidValue);
  expect_report(Fault::bad_call, "no device memory");
}

TEST_F(Runtime, RefusesWrongCopies) {
  std::vector<float> host(20);
  const OnDevice<float> set(host), unset(10);
  EXPECT_EQ(cudaMemcpy(set.data(), host.data(), 40, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  expect_report(Fault::bad_call, "the pointers are not those of DeviceToHost");
  EXPECT_EQ(cudaMemcpy(unset.data(), host.data(), 44, cudaMemcpyHostToDevice),
            cudaErrorIllegalAddress);
  expect_report(Fault::out_of_bounds, "the destination of 44 bytes ends outside its allocation");
  EXPECT_EQ(cudaMemset(unset.data(), 0, 41), cudaErrorIllegalAddress);
  expect_report(Fault::out_of_bounds, "cudaMemset: the destination of 41 bytes");
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  expect_report(Fault::bad_call, "no device memory");
  EXPECT_EQ(cudaMemcpy(host.data(), unset.data(), 40, cudaMemcpyDeviceToHost), cudaSuccess);
  expect_report(Fault::uninitialised, "brings 40 bytes to the host, some never written");
  cudaSetDevice(1);
  EXPECT_EQ(cudaMemset(unset.data(), 0, 4), cudaErrorIllegalAddress);
  expect_report(Fault::wrong_device, "the destination is of device 0");
}

TEST_F(Runtime, AFreedSourceIsNamed) {
  float *x = nullptr, y = 0;
  cudaMalloc(&x, 400);
  cudaFree(x);
  EXPECT_EQ(cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
  expect_report(Fault::use_after_free, "the source of 4 bytes was freed");
}

TEST_F(Runtime, ACopyCarriesWhatWasNeverWritten) {
  const OnDevice<float> unset(10), copied(10);
  EXPECT_EQ(cudaMemcpy(copied.data(), unset.data(), 40, cudaMemcpyDeviceToDevice), cudaSuccess);
  controls::scale(copied.data(), 2, 1, nullptr);
  expect_report(Fault::uninitialised, "global memory that nobody has written");
}

TEST_F(Runtime, RefusesDeadHandles) {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaStreamDestroy(stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  expect_report(Fault::bad_call, "cudaStreamSynchronize: the handle is no live stream");
  cudaEvent_t event = nullptr;
  cudaEventCreate(&event);
  cudaEventDestroy(event);
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
  expect_report(Fault::bad_call, "the handle is no live event");
}

TEST_F(Runtime, RefusesAnEventOfTheOtherDevice) {
  cudaEvent_t event = nullptr;
  cudaEventCreate(&event);
  cudaSetDevice(1);
  EXPECT_EQ(cudaEventRecord(event), cudaErrorInvalidResourceHandle);
  expect_report(Fault::wrong_device, "the event is of device 0, the stream of device 1");
  cudaEventDestroy(event);
}

TEST_F(Runtime, ALazyCopyNoticesThatItsSourceChanged) {
  set_schedule({.lazy = true});
  std::vector<float> host(10, 1);
  const OnDevice<float> x(10);
  cudaMemcpyAsync(x.data(), host.data(), 40, cudaMemcpyHostToDevice);
  host[3] = 2;
  cudaDeviceSynchronize();
  expect_report(Fault::race, "the host changed the source before the copy");
}

TEST_F(Runtime, AResultThatNobodyWaitedForIsNoNumber) {
  set_schedule({.lazy = true});
  const OnDevice<float> x(std::vector<float>(10, 1));
  std::vector<float> host(10, 1);
  cudaMemcpyAsync(host.data(), x.data(), 40, cudaMemcpyDeviceToHost);
  EXPECT_NE(host[0], host[0]);
  cudaDeviceSynchronize();
  EXPECT_EQ(host[0], 1);
}

using GuardedHost = SimtTest;

TEST_F(GuardedHost, LetsKernelsAndCopiesWork) {
  set_schedule({.guard_host = true});
  const OnDevice<float> x(std::vector<float>{1, 2});
  controls::scale(x.data(), 2, 2, nullptr);
  EXPECT_EQ(x.get()[1], 4);
}

TEST_F(GuardedHost, EndsUninstrumentedHostCodeThatTouchesDeviceMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        set_schedule({.guard_host = true});
        const OnDevice<float> x(std::vector<float>{1, 2});
        accrue::simt::name_allocation(x.data(), "x");
        const volatile float* device = x.data();
        std::exit(device[1] == 2 ? 1 : 2);
      },
      testing::KilledBySignal(SIGSEGV), "host code touches allocation 1 'x' of device 0.*byte 4");
}

}  // namespace
