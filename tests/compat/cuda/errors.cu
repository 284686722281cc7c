/* Errors, each of which is the thread's last one, too. */
#include "parts/check.h"

__global__ void nothing(int *) {}

int main() {
    int *word, device = -1, count = 0;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    FAILS(cudaSetDevice(1), cudaErrorInvalidDevice);
    OK(cudaMalloc((void **)&word, sizeof *word));
    FAILS(cudaMalloc((void **)&word, 1ull << 50), cudaErrorMemoryAllocation);
    FAILS(cudaMemcpy(word, &device, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpy(word, &device, 1ull << 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    nothing<<<1, 2048>>>(word);
    EXPECT(cudaGetLastError(), cudaErrorInvalidConfiguration);
    nothing<<<0, 1>>>(word);
    EXPECT(cudaGetLastError(), cudaErrorInvalidConfiguration);
    FAILS(cudaLaunchKernel((const void *)main, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
    void *graph;
    FAILS(cudaGraphCreate(&graph, 0), cudaErrorNotSupported);
    // It needs no device.
    cudaChannelFormatDesc description = cudaCreateChannelDesc(8, 16, 32, 64, 2);
    CHECK(description.x == 8 && description.y == 16 && description.z == 32);
    CHECK(description.w == 64 && description.f == 2);
    puts("ok");
}
