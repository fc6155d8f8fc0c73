// The calls of the CUDA runtime about errors and devices.
#include <cstring>

#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/shared.h>

using namespace accrue::simt;

namespace {

constexpr int kVersion = 12000;

struct NamedError {
  cudaError_t error;
  const char* name;
  const char* text;
};
// clang-format off
constexpr NamedError kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
};
// clang-format on

const NamedError* find(cudaError_t error) {
  for (const NamedError& known : kErrors) {
    if (known.error == error) return &known;
  }
  return nullptr;
}

bool exists(int device) { return device >= 0 && device < kDevices; }

cudaError_t refuse_device(const char* call, int device) {
  return refuse(call, join("there is no device ", device), join("0 to ", kDevices - 1),
                cudaErrorInvalidDevice);
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  const NamedError* known = find(error);
  return known ? known->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const NamedError* known = find(error);
  return known ? known->text : "unrecognized error code";
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const Entered entered;
  if (!exists(device)) return refuse_device("cudaSetDevice", device);
  set_current_device(device);
  return outcome();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Entered entered;
  if (!exists(device)) return refuse_device("cudaGetDeviceProperties", device);
  *properties = {};
  std::strcpy(properties->name, "accrue host executor");
  properties->totalGlobalMem = kDeviceSpan;
  properties->sharedMemPerBlock = kStaticSharedLimit;
  properties->sharedMemPerBlockOptin = kDynamicSharedLimit;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 4;  // few, so that grids stay small
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const Entered entered;
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device); error) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  const Entered entered;
  if (!exists(device)) return refuse_device("cudaDeviceCanAccessPeer", device);
  if (!exists(peer)) return refuse_device("cudaDeviceCanAccessPeer", peer);
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  const Entered entered;
  if (!exists(peer) || peer == current_device()) {
    return refuse_device("cudaDeviceEnablePeerAccess", peer);
  }
  bool& reach = executor().device(current_device()).can_reach[peer];
  if (reach) return fail(cudaErrorPeerAccessAlreadyEnabled);
  reach = true;
  return outcome();
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  const Entered entered;
  if (!exists(peer)) return refuse_device("cudaDeviceDisablePeerAccess", peer);
  bool& reach = executor().device(current_device()).can_reach[peer];
  if (!reach) return fail(cudaErrorPeerAccessNotEnabled);
  reach = false;
  return outcome();
}
