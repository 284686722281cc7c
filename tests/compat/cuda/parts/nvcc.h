// nvcc's declarations in each source file, as far as programs of the documentation use them.
#pragma once
#include "runtime.h"

template <typename T> cudaError_t cudaMalloc(T **memory, size_t bytes) {
    return cudaMalloc(reinterpret_cast<void **>(memory), bytes);
}

extern "C" __device__ int printf(const char *format, ...);

struct ThreadIdx {
    struct X {
        __device__ operator unsigned() const { return thread(); }
    };
    X x;
};
static const __device__ ThreadIdx threadIdx;
