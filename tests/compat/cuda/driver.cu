/* The runtime and the driver in one program: the runtime's functions take effect in the driver's contexts, and find
   out what the driver's functions have changed. */
#include "parts/check.h"

__global__ void set(int *word) { *word = 42; }

template <typename Function> static Function driver(const char *name) {
    Function function = nullptr;
    OK(cudaGetDriverEntryPoint(name, &function, 0));
    CHECK(function);
    return function;
}

static void launch() {
    int *word, found = 0;
    OK(cudaMalloc((void **)&word, sizeof *word));
    set<<<1, 1>>>(word);
    OK(cudaMemcpy(&found, word, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(found == 42);
}

int main() {
    launch();

    int config = -1;
    OK(cudaDeviceGetCacheConfig(&config));
    CHECK(config == 0);
    OK(cudaDeviceSetCacheConfig(2));
    OK(cudaThreadGetCacheConfig(&config));
    CHECK(config == 2);
    OK(driver<cudaError_t (*)(int *)>("cuCtxGetCacheConfig")(&config));
    CHECK(config == 2);
    OK(cudaThreadSetCacheConfig(3));
    OK(cudaDeviceGetCacheConfig(&config));
    CHECK(config == 3);
    FAILS(cudaDeviceSetCacheConfig(4), cudaErrorInvalidValue);

    // In programs whose default stream is the thread's, so it is in the functions that they ask for.
    void *legacy, *plain, *other, *third;
    OK(cudaGetDriverEntryPoint("cuStreamSynchronize", &legacy, 0));
    OK(cudaGetDriverEntryPoint("cuStreamSynchronize", &plain, 2));
    OK(cudaGetDriverEntryPoint_ptsz("cuStreamSynchronize", &other, 0));
    CHECK(other == plain && other != legacy);
    OK(cudaGetDriverEntryPointByVersion_ptsz("cuStreamSynchronize", &third, 12000, 0));
    CHECK(third == plain);
    OK(cudaGetDriverEntryPoint_ptsz("cuStreamSynchronize", &third, 1));
    CHECK(third == legacy);

    // A context of which the runtime has a handle is destroyed behind its back.
    auto reset = driver<cudaError_t (*)(int)>("cuDevicePrimaryCtxReset");
    OK(reset(0));
    launch();
    OK(reset(0));
    OK(cudaSetDevice(0));
    launch();
    // Now the driver's own user has retained the new one first.
    OK(reset(0));
    void *context;
    OK(driver<cudaError_t (*)(void **, int)>("cuDevicePrimaryCtxRetain")(&context, 0));
    OK(cudaSetDevice(0));
    launch();
    OK(driver<cudaError_t (*)(int)>("cuDevicePrimaryCtxRelease")(0));
    launch();
    OK(reset(0));
    int device = -1;
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    OK(reset(0));
    OK(cudaDeviceReset());
    launch();
    puts("ok");
}
