/* Launches other than <<<>>>, and attributes of kernels. */
#include "parts/check.h"

__global__ void sum(int *total, int each) { __nvvm_atom_add_gen_i(total, each); }

// Waits for all blocks, which must therefore run at the same time.
__global__ void together(int *arrived) {
    __nvvm_atom_add_gen_i(arrived, 1);
    while (*(volatile int *)arrived < (int)grid_size()) {
    }
}

int main() {
    int *total, result = 0, each = 3, blocks = 0;
    OK(cudaMalloc((void **)&total, sizeof *total));
    OK(cudaMemset(total, 0, sizeof *total));
    void *arguments[] = {&total, &each};

    cudaLaunchConfig_t configuration = {2, 32, 0, nullptr, nullptr, 0};
    OK(cudaLaunchKernelExC(&configuration, (const void *)sum, arguments));
    OK(cudaMemcpy(&result, total, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(result == 2 * 32 * 3);

    OK(cudaMemset(total, 0, sizeof *total));
    OK(cudaLaunchCooperativeKernel((const void *)together, 4, 1, arguments, 0, nullptr));
    OK(cudaDeviceSynchronize());

    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, (const void *)sum));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.ptxVersion == 70);
    CHECK(attributes.binaryVersion == 90);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)sum, 128, 0));
    CHECK(blocks == 16);
    int version = 0, threads = 0;
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version / 1000 == 12);
    OK(cudaDeviceGetAttribute(&threads, 1, 0));
    CHECK(threads == 1024);
    static struct {
        char name[256];
        char others[776];
        char after[64];
    } properties;
    OK(cudaGetDeviceProperties_v2(&properties, 0));
    CHECK(properties.name[0] == 'e' && properties.after[0] == 0);
    puts("ok");
}
