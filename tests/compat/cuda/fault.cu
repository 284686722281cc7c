/* A fault is reported with its thread, breaks the context, and ends with a reset of the device.
   output: block (2, 0, 0), thread (5, 0, 0)
   output: which is not allocated */
#include "parts/check.h"

__global__ void store(int *word, int offset) {
    if (block() == 2 && thread() == 5)
        word[offset] = 1;
}

int main() {
    int *word, result = 0;
    OK(cudaMalloc((void **)&word, sizeof *word));
    store<<<4, 32>>>(word, 1 << 28);
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT(cudaMalloc((void **)&word, sizeof *word), cudaErrorIllegalAddress);
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    cudaGetLastError();
    OK(cudaMalloc((void **)&word, sizeof *word));
    store<<<4, 32>>>(word, 0);
    OK(cudaMemcpy(&result, word, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(result == 1);
    puts("ok");
}
