/* Launches other than <<<>>>, and attributes of kernels. */
#include "parts/check.h"
#include <string.h>

__global__ void sum(int *total, int each) { __nvvm_atom_add_gen_i(total, each); }

// Waits for all blocks, which must therefore run at the same time.
__global__ void together(int *arrived) {
    __nvvm_atom_add_gen_i(arrived, 1);
    while (*(volatile int *)arrived < (int)grid_size()) {
    }
}

// The blocks of a cooperative launch share memory that the driver provides, zeroed, and whose address is in two
// registers: there the grid.sync() of cooperative groups waits.
static __device__ void sync_grid(unsigned round) {
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    int *arrived = (int *)((size_t)high << 32 | low);
    __nvvm_membar_gl();
    __syncthreads();
    if (thread() == 0) {
        __nvvm_atom_add_gen_i(arrived, 1);
        while (*(volatile int *)arrived < (int)(grid_size() * round)) {
        }
        __nvvm_membar_gl();
    }
    __syncthreads();
}

// Sums of neighbours, each time after all threads have written.
__global__ void exchange(int *numbers, int *sums) {
    unsigned all = grid_size() * block_size(), me = block() * block_size() + thread();
    numbers[me] = me;
    sync_grid(1);
    int sum = numbers[me] + numbers[(me + block_size()) % all];
    sync_grid(2);
    numbers[me] = sum;
    sync_grid(3);
    sums[me] = numbers[me] + numbers[(me + 2 * block_size()) % all];
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

    int *numbers, *sums, found[4 * 64];
    OK(cudaMalloc((void **)&numbers, sizeof found));
    OK(cudaMalloc((void **)&sums, sizeof found));
    void *both[] = {&numbers, &sums};
    OK(cudaLaunchCooperativeKernel((const void *)exchange, 4, 64, both, 0, nullptr));
    OK(cudaMemcpy(found, sums, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4 * 64; i++) {
        int expected = 0;
        for (int block = 0; block < 4; block++)
            expected += (i + block * 64) % (4 * 64);
        CHECK(found[i] == expected);
    }
    EXPECT(cudaLaunchCooperativeKernel((const void *)exchange, 1 << 20, 64, both, 0, nullptr), (cudaError_t)720);
    EXPECT(cudaGetLastError(), (cudaError_t)720);

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
        unsigned char after[64];
    } properties;
    memset(&properties, 0xff, sizeof properties);
    OK(cudaGetDeviceProperties_v2(&properties, 0));
    CHECK(properties.name[0] == 'e');
    for (unsigned char byte : properties.after)
        CHECK(byte == 0xff);
    puts("ok");
}
