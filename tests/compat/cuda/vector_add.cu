/* The usual first program. */
#include "parts/check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = block() * block_size() + thread();
    if (i < n)
        c[i] = a[i] + b[i];
}

int main() {
    const int n = 1000;
    float a[n], b[n], c[n], *on_device[3];
    for (int i = 0; i < n; i++)
        a[i] = i, b[i] = 2 * i;
    for (float *&array : on_device)
        OK(cudaMalloc((void **)&array, sizeof a));
    OK(cudaMemcpy(on_device[0], a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(on_device[1], b, sizeof b, cudaMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(on_device[0], on_device[1], on_device[2], n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(c, on_device[2], sizeof c, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        CHECK(c[i] == 3 * i);
    for (float *array : on_device)
        OK(cudaFree(array));
    puts("ok");
}
