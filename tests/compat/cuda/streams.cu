/* Streams, events, functions of the host in a stream, and the default stream of a thread. */
#include "parts/check.h"

__global__ void append(int *list, int value) {
    list[list[0] + 1] = value;
    list[0]++;
}

__global__ void wait_for(volatile int *flag) {
    while (!*flag)
        ;
}

static void set(void *flag) { *(volatile int *)flag = 1; }

int main() {
    cudaStream_t one, two;
    cudaEvent_t start, end;
    OK(cudaStreamCreate(&one));
    OK(cudaStreamCreate(&two));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));

    int *flag, *flag_on_device, *list, from[4] = {9, 9, 9, 9};
    OK(cudaHostAlloc((void **)&flag, sizeof *flag, 2));
    OK(cudaHostGetDevicePointer((void **)&flag_on_device, flag, 0));
    OK(cudaMalloc((void **)&list, sizeof from));
    *flag = 0;
    OK(cudaMemset(list, 0, sizeof from));

    OK(cudaEventRecord(start, one));
    wait_for<<<1, 1, 0, one>>>(flag_on_device);
    append<<<1, 1, 0, one>>>(list, 1);
    OK(cudaEventRecord(end, one));
    // "Not ready" is no error.
    EXPECT(cudaStreamQuery(one), cudaErrorNotReady);
    OK(cudaGetLastError());
    OK(cudaStreamWaitEvent(two, end, 0));
    append<<<1, 1, 0, two>>>(list, 2);
    set(flag);
    OK(cudaStreamSynchronize(two));
    OK(cudaMemcpyAsync(from, list, sizeof from, cudaMemcpyDeviceToHost, one));
    OK(cudaStreamSynchronize(one));
    CHECK(from[0] == 2 && from[1] == 1 && from[2] == 2);

    float milliseconds = -1;
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds > 0);

    *flag = 0;
    OK(cudaLaunchHostFunc(two, set, flag));
    wait_for<<<1, 1, 0, two>>>(flag_on_device);
    OK(cudaStreamSynchronize(two));

    // The default stream of this thread is not one of these.
    OK(cudaMemcpyAsync_ptsz(from, list, sizeof from, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaStreamSynchronize_ptsz(nullptr));

    void *later;
    OK(cudaMallocAsync(&later, 100, one));
    OK(cudaFreeAsync(later, one));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(two));
    FAILS(cudaStreamSynchronize(one), cudaErrorInvalidResourceHandle);
    puts("ok");
}
