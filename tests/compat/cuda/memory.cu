/* Rectangles, cuboids, managed memory, and what the runtime knows about addresses. */
#include "parts/check.h"
#include <string.h>
#include <unistd.h>

__global__ void number(char *bytes, size_t pitch, int width) {
    if (thread() < width)
        bytes[block() * pitch + thread()] = block() + thread();
}

__global__ void increment(int *word) { ++*word; }

static void sleep_and_set(void *flag) {
    usleep(100000);
    *(volatile bool *)flag = true;
}

// Filling memory waits for its end where the host can access the memory, and else not. Before it, the stream sleeps.
static void fill(int *word, bool waits) {
    volatile bool slept = false;
    OK(cudaLaunchHostFunc(nullptr, sleep_and_set, (void *)&slept));
    OK(cudaMemset(word, 1, sizeof *word));
    CHECK(slept == waits);
    CHECK(!waits || *word == 0x01010101);
    OK(cudaDeviceSynchronize());
    slept = false;
    OK(cudaLaunchHostFunc(nullptr, sleep_and_set, (void *)&slept));
    OK(cudaMemset2D(word, sizeof *word, 2, sizeof *word, 1));
    CHECK(slept == waits);
    CHECK(!waits || *word == 0x02020202);
    OK(cudaDeviceSynchronize());
}

static cudaMemoryType type(const void *address) {
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, address));
    CHECK(attributes.type == cudaMemoryTypeUnregistered || attributes.device == 0);
    return attributes.type;
}

int main() {
    char *rows, back[7][100];
    size_t pitch;
    OK(cudaMallocPitch((void **)&rows, &pitch, 100, 7));
    number<<<7, 128>>>(rows, pitch, 100);
    OK(cudaMemcpy2D(back, 100, rows, pitch, 100, 7, cudaMemcpyDeviceToHost));
    CHECK(back[6][99] == 105);

    cudaExtent extent = {20, 3, 2};
    cudaPitchedPtr cuboid;
    OK(cudaMalloc3D(&cuboid, extent));
    char from[2][3][20], to[2][3][20];
    memset(from, 9, sizeof from);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = {from, 20, 20, 3};
    copy.dstPtr = cuboid;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    copy.srcPtr = cuboid;
    copy.dstPtr = {to, 20, 20, 3};
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    CHECK(!memcmp(from, to, sizeof from));

    int *managed, *pinned, local = 0;
    OK(cudaMallocManaged((void **)&managed, sizeof *managed, 1));
    OK(cudaHostAlloc((void **)&pinned, sizeof *pinned, 0));
    *managed = *pinned = 41;
    increment<<<1, 1>>>(managed);
    increment<<<1, 1>>>(pinned);
    OK(cudaDeviceSynchronize());
    CHECK(*managed == 42 && *pinned == 42);
    CHECK(type(rows) == cudaMemoryTypeDevice);
    CHECK(type(pinned) == cudaMemoryTypeHost);
    CHECK(type(managed) == cudaMemoryTypeManaged);
    CHECK(type(&local) == cudaMemoryTypeUnregistered);
    fill(managed, true);
    fill(pinned, true);
    fill((int *)rows, false);
    OK(cudaFree(managed));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(nullptr));
    puts("ok");
}
