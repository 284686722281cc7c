/* Variables and constants, shared memory, templates, and kernels that the program gives by address. */
#include "parts/check.h"

__constant__ float weights[4];
__device__ int calls;
__device__ int initial = 5;
static int of_host;

template <class T> __global__ void weigh(const T *values, T *sums, int n) {
    __shared__ T part[64];
    T sum = 0;
    for (int i = block() * block_size() + thread(); i < n; i += grid_size() * block_size())
        sum += values[i] * weights[i % 4];
    part[thread()] = sum;
    for (unsigned half = block_size() / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread() < half)
            part[thread()] += part[thread() + half];
    }
    if (thread() == 0) {
        sums[block()] = part[0];
        __nvvm_atom_add_gen_i(&calls, 1);
    }
}

template <class T> static void run() {
    T values[800], sums[2];
    for (T &value : values)
        value = 1;
    T *on_device, *sums_on_device;
    OK(cudaMalloc((void **)&on_device, sizeof values));
    OK(cudaMalloc((void **)&sums_on_device, sizeof sums));
    OK(cudaMemcpy(on_device, values, sizeof values, cudaMemcpyHostToDevice));
    int n = 800;
    void *arguments[] = {&on_device, &sums_on_device, &n};
    OK(cudaLaunchKernel((const void *)weigh<T>, 2, 64, arguments, 0, nullptr));
    OK(cudaMemcpy(sums, sums_on_device, sizeof sums, cudaMemcpyDeviceToHost));
    CHECK(sums[0] + sums[1] == 2000);
}

int main() {
    float four[4] = {1, 2, 3, 4};
    OK(cudaMemcpyToSymbol(weights, four, sizeof four, 0, cudaMemcpyHostToDevice));
    run<float>();
    run<double>();
    int count = 0, value = 0;
    OK(cudaMemcpyFromSymbol(&count, &calls, sizeof count, 0, cudaMemcpyDeviceToHost));
    CHECK(count == 4);
    OK(cudaMemcpyFromSymbol(&value, &initial, sizeof value, 0, cudaMemcpyDeviceToHost));
    CHECK(value == 5);
    size_t bytes = 0;
    void *address = nullptr;
    OK(cudaGetSymbolSize(&bytes, weights));
    OK(cudaGetSymbolAddress(&address, &calls));
    CHECK(bytes == sizeof four && address);
    FAILS(cudaGetSymbolSize(&bytes, &of_host), cudaErrorInvalidSymbol);
    FAILS(cudaMemcpyToSymbol(weights, four, sizeof four, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    puts("ok");
}
