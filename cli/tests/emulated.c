/* A program that uses CUDA's driver API and knows nothing of this project. It loads the driver, adds two vectors,
   and ends as its argument says: ok, fault, midway, devices. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;

static const char *const PTX =
    ".version 7.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry add(.param .u64 to, .param .u64 from, .param .u32 count) {\n"
    "  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d0, [to]; ld.param.u64 %d1, [from]; ld.param.u32 %r0, [count];\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  setp.ge.u32 %p, %r1, %r0; @%p ret;\n"
    "  mul.wide.u32 %d2, %r1, 4; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;\n"
    "  ld.global.u32 %r4, [%d0]; ld.global.u32 %r5, [%d1]; add.u32 %r4, %r4, %r5; st.global.u32 [%d0], %r4;\n"
    "  ret;\n}\n"
    ".visible .entry spin(.param .u64 flag) {\n"
    "  .reg .pred %p; .reg .b32 %r; .reg .b64 %d;\n"
    "  ld.param.u64 %d, [flag];\n"
    "again: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %p, %r, 0; @%p bra again; ret;\n}\n";

/* Calls a function of the driver, and ends the program if it fails. */
#define CU(name, types, ...)                                                        \
    do {                                                                            \
        int (*called) types = (int (*) types)dlsym(driver, #name);                  \
        int code = called ? called(__VA_ARGS__) : -1;                               \
        if (code) {                                                                 \
            fprintf(stderr, "%s: %d\n", #name, code);                               \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

static void *driver;

static void launch(void *function, unsigned blocks, void **arguments) {
    CU(cuLaunchKernel,
       (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
       function, blocks, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL);
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "ok";
    enum { N = 1000 };
    unsigned a[N], b[N], n = N;
    int devices, major;
    void *context, *module, *add, *spin;
    Address x, y;

    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    CU(cuInit, (unsigned), 0);
    CU(cuDeviceGetCount, (int *), &devices);
    CU(cuDeviceGetAttribute, (int *, int, int), &major, 75, 0);
    if (!strcmp(how, "devices")) {
        printf("%d of %d.x\n", devices, major);
        return 0;
    }
    CU(cuDevicePrimaryCtxRetain, (void **, int), &context, 0);
    CU(cuCtxSetCurrent, (void *), context);
    CU(cuModuleLoadData, (void **, const char *), &module, PTX);
    CU(cuModuleGetFunction, (void **, void *, const char *), &add, module, "add");
    CU(cuModuleGetFunction, (void **, void *, const char *), &spin, module, "spin");
    CU(cuMemAlloc_v2, (Address *, size_t), &x, sizeof a);
    CU(cuMemAlloc_v2, (Address *, size_t), &y, sizeof b);
    for (unsigned i = 0; i < N; i++)
        a[i] = i, b[i] = 2 * i;
    CU(cuMemcpyHtoD_v2, (Address, const void *, size_t), x, a, sizeof a);
    CU(cuMemcpyHtoD_v2, (Address, const void *, size_t), y, b, sizeof b);
    if (!strcmp(how, "fault"))
        n = N + 10;
    launch(add, 32, (void *[]){&x, &y, &n});
    CU(cuMemcpyDtoH_v2, (void *, Address, size_t), a, x, sizeof a);
    for (unsigned i = 0; i < N; i++)
        if (a[i] != 3 * i) {
            fprintf(stderr, "a[%u] is %u\n", i, a[i]);
            return 1;
        }
    if (!strcmp(how, "midway")) {
        CU(cuMemsetD32_v2, (Address, unsigned, size_t), x, 0, 1);
        launch(spin, 1, (void *[]){&x});
        return 7;
    }
    puts("right");
    return 0;
}
