// The part of CUDA's runtime API that the programs use, declared as NVIDIA documents it: the machine that tests
// them need not have NVIDIA's headers.
#pragma once
#include <stddef.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorNotSupported = 801,
};

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault,
};

enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged,
};

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
    int others[23];
};

struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};

struct cudaExtent {
    size_t width, height, depth;
};

struct cudaMemcpy3DParms {
    void *srcArray;
    size_t srcPos[3];
    cudaPitchedPtr srcPtr;
    void *dstArray;
    size_t dstPos[3];
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};

struct cudaChannelFormatDesc {
    int x, y, z, w, f;
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    void *attrs;
    unsigned numAttrs;
};

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void *stream = nullptr);
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *kernel, void **args);
cudaError_t cudaLaunchCooperativeKernel(
    const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t);
cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*function)(void *), void *data);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char *cudaGetErrorName(cudaError_t);
const char *cudaGetErrorString(cudaError_t);
cudaError_t cudaGetDeviceCount(int *);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetDevice(int *);
cudaError_t cudaDeviceGetAttribute(int *, int attribute, int device);
cudaError_t cudaGetDeviceProperties_v2(void *, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceGetCacheConfig(int *);
cudaError_t cudaDeviceSetCacheConfig(int);
cudaError_t cudaThreadGetCacheConfig(int *);
cudaError_t cudaThreadSetCacheConfig(int);
cudaError_t cudaGetDriverEntryPoint(const char *name, void *function, unsigned long long flags, int *status = nullptr);
cudaError_t cudaGetDriverEntryPoint_ptsz(
    const char *name, void *function, unsigned long long flags, int *status = nullptr);
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(
    const char *name, void *function, unsigned version, unsigned long long flags, int *status = nullptr);
cudaError_t cudaRuntimeGetVersion(int *);
cudaError_t cudaMalloc(void **, size_t);
cudaError_t cudaMallocPitch(void **, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(cudaPitchedPtr *, cudaExtent);
cudaError_t cudaMallocManaged(void **, size_t, unsigned flags);
cudaError_t cudaMallocAsync(void **, size_t, cudaStream_t);
cudaError_t cudaHostAlloc(void **, size_t, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void **, void *, unsigned flags);
cudaError_t cudaFree(void *);
cudaError_t cudaFreeAsync(void *, cudaStream_t);
cudaError_t cudaFreeHost(void *);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *, const void *);
cudaError_t cudaMemset(void *, int, size_t);
cudaError_t cudaMemset2D(void *, size_t pitch, int, size_t width, size_t height);
cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemcpyAsync_ptsz(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemcpy2D(
    void *, size_t to_pitch, const void *, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *);
cudaError_t cudaMemcpyToSymbol(const void *, const void *, size_t, size_t offset, cudaMemcpyKind);
cudaError_t cudaMemcpyFromSymbol(void *, const void *, size_t, size_t offset, cudaMemcpyKind);
cudaError_t cudaGetSymbolAddress(void **, const void *);
cudaError_t cudaGetSymbolSize(size_t *, const void *);
cudaError_t cudaStreamCreate(cudaStream_t *);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t *);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, const void *kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *, const void *kernel, int block, size_t shared);
cudaError_t cudaGraphCreate(void **graph, unsigned flags);
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
}

// Where a thread is.
static __device__ inline unsigned thread() { return __nvvm_read_ptx_sreg_tid_x(); }
static __device__ inline unsigned block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
static __device__ inline unsigned block_size() { return __nvvm_read_ptx_sreg_ntid_x(); }
static __device__ inline unsigned grid_size() { return __nvvm_read_ptx_sreg_nctaid_x(); }
