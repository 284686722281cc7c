/*
 * Reverse offload for device code in C: call a function on the host and wait
 * for it. C11 and C++17, also CUDA and HIP; link the image with the library of
 * revoff-device, docs/linking.md says how for each kind of image.
 *
 * A kernel for the `host` device that has the host look something up:
 *
 *     #include "revoff.h"
 *
 *     // The host registers a function of this name.
 *     REVOFF_HOST_FUNCTION(lookup)
 *
 *     // Kernel parameters: an array of numbers, and how many they are.
 *     REVOFF_KERNEL(translate, uint64_t *, uint32_t)
 *     {
 *         uint64_t *numbers = REVOFF_PARAM(uint64_t *, 0);
 *         uint32_t count = REVOFF_PARAM(uint32_t, 1);
 *         uint32_t step = revoff_teams() * revoff_threads();
 *
 *         for (uint32_t i = revoff_team() * revoff_threads() + revoff_thread(); i < count;
 *              i += step) {
 *             void *addrs[] = {&numbers[i]};
 *             size_t sizes[] = {sizeof numbers[i]};
 *             unsigned short kinds[] = {REVOFF_MAP_TOFROM};
 *
 *             uint32_t status = revoff_call(REVOFF_CALL(lookup), 1, addrs, sizes, kinds);
 *
 *             // GCC's wires report no status: the number may be looked up or not.
 *             if (status != REVOFF_STATUS_DONE && status != REVOFF_STATUS_NONE)
 *                 numbers[i] = 0;
 *         }
 *     }
 *
 * For a GPU only the head of the kernel differs, see REVOFF_GPU_KERNEL. OpenMP
 * programs by clang include revoff_openmp.h instead of this file.
 *
 * The host function gets the addresses of its own copies of the mapped data, as
 * libgomp passes them to an outlined `target device(ancestor:1)` region.
 */

#ifndef REVOFF_H
#define REVOFF_H

#include <stddef.h>
#include <stdint.h>

#include "revoff_abi.h"

#ifdef __cplusplus
#define REVOFF_C_LINKAGE extern "C"
extern "C" {
#else
#define REVOFF_C_LINKAGE extern
#endif

/** Makes a symbol visible to the host, even in an image built with -fvisibility=hidden. */
#define REVOFF_EXPORTED __attribute__((visibility("default")))

/**
 * In CUDA and HIP, marks a function or a variable as device code; empty for other compilers. In
 * CUDA, a `const` variable may be placed in constant memory, where the host does not look for
 * it.
 */
#if defined(__CUDA__) || defined(__CUDACC__) || defined(__HIP__)
#define REVOFF_DEVICE __attribute__((device))
#define REVOFF_DEVICE_CONST REVOFF_DEVICE
#else
#define REVOFF_DEVICE
#define REVOFF_DEVICE_CONST const
#endif

/**
 * Calls a function on the host and returns when it has run: GCC's interface,
 * which compiled OpenMP code calls too.
 *
 * `device` is GOMP_DEVICE_HOST_FALLBACK; for any other nothing is called. `fn` names
 * the function, see REVOFF_CALL. `hostaddrs`, `sizes` and `kinds` have `mapnum`
 * entries: an address (or a value, for REVOFF_MAP_FIRSTPRIVATE_INT), the bytes
 * there, and a REVOFF_MAP_* with the binary logarithm of the alignment in the
 * high byte. `depend` is not used.
 *
 * With REVOFF_FLAG_STATUS in `flags`, `args` points to a uint32_t that receives
 * how the call ended, a REVOFF_STATUS_*. Put REVOFF_STATUS_NONE there first: a
 * device runtime that reports no status (GCC's own) leaves the word as it was.
 * Without the flag the device does not learn how the call ended.
 *
 * A call orders all memory, as OpenMP requires. With REVOFF_FLAG_ARGS_ONLY in `flags` it orders
 * only the ranges of its arguments, which is faster; see revoff_system_fence.
 */
REVOFF_DEVICE void GOMP_target_ext(int device, void (*fn)(void *), size_t mapnum,
                                   void **hostaddrs, size_t *sizes, unsigned short *kinds,
                                   unsigned int flags, void **depend, void **args);

/**
 * GOMP_target_ext that returns the call's status, a REVOFF_STATUS_*: _NONE if the device
 * runtime reports none, as on GCC's wires.
 */
REVOFF_DEVICE static inline uint32_t revoff_call(void (*fn)(void *), size_t mapnum,
                                                 void **hostaddrs, size_t *sizes,
                                                 unsigned short *kinds)
{
    uint32_t status = REVOFF_STATUS_NONE;
    GOMP_target_ext(GOMP_DEVICE_HOST_FALLBACK, fn, mapnum, hostaddrs, sizes, kinds,
                    REVOFF_FLAG_STATUS, NULL, (void **)(void *)&status);
    return status;
}

/**
 * Declares, at file scope and without a semicolon, that this image calls the host function
 * `name`. May occur in several files of an image. Defines the revoff_function_info by which the
 * host finds the name. The signature is 0, because a C declaration has none to compare.
 */
#define REVOFF_HOST_FUNCTION(name) REVOFF_FUNCTION_INFO(name)

/**
 * The `fn` argument of GOMP_target_ext for a REVOFF_HOST_FUNCTION. It identifies the function
 * for the host and is not code: do not call it on the device.
 */
#define REVOFF_CALL(name) REVOFF_FUNCTION_WORD(name)

/* The parts of the two macros above, for headers that define more such macros. */
#define REVOFF_FUNCTION_INFO(name)                                                               \
    REVOFF_C_LINKAGE REVOFF_EXPORTED __attribute__((weak)) REVOFF_DEVICE_CONST                   \
        revoff_function_info __revoff_fn_##name;                                                 \
    REVOFF_DEVICE_CONST revoff_function_info __revoff_fn_##name = {0};
#define REVOFF_FUNCTION_WORD(name) ((void (*)(void *))(uintptr_t)&__revoff_fn_##name)

/**
 * Head of a kernel for the `host` device: its name and the types of its parameters, at most 16;
 * the body follows. `params[i]` points to the value of parameter `i`, see REVOFF_PARAM. Defines
 * the revoff_kernel_info by which the host rejects a launch with other parameters. The
 * signature is 0, as for REVOFF_HOST_FUNCTION.
 */
#define REVOFF_KERNEL(...)                                                                       \
    REVOFF_DEFINE_KERNEL(REVOFF_FIRST(__VA_ARGS__, 0), REVOFF_TYPES(__VA_ARGS__),                \
                         REVOFF_BYTES(REVOFF_TYPES(__VA_ARGS__))(__VA_ARGS__))

/* The parts of REVOFF_KERNEL. Its arguments are expanded once more before names are
   concatenated. */
#define REVOFF_DEFINE_KERNEL(name, types, bytes) REVOFF_DESCRIBED_KERNEL(name, types, bytes)
#define REVOFF_DESCRIBED_KERNEL(name, types, bytes)                                              \
    REVOFF_C_LINKAGE REVOFF_EXPORTED const revoff_kernel_info __revoff_kernel_##name;            \
    const revoff_kernel_info __revoff_kernel_##name = {types, (uint32_t)(bytes), 0};             \
    REVOFF_C_LINKAGE REVOFF_EXPORTED void name(const void *const *params);                       \
    void name(const void *const *params)
#define REVOFF_FIRST(name, ...) name
/* Counts the types after a name; REVOFF_BYTES selects the macro that adds up that many sizes.
   */
#define REVOFF_TYPES(...)                                                                        \
    REVOFF_18TH(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define REVOFF_18TH(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, \
                    a16, found, ...)                                                             \
    found
#define REVOFF_BYTES(types) REVOFF_BYTES_OF(types)
#define REVOFF_BYTES_OF(types) REVOFF_BYTES_##types
#define REVOFF_BYTES_0(name) 0
#define REVOFF_BYTES_1(name, type) sizeof(type)
#define REVOFF_BYTES_2(name, type, ...) (sizeof(type) + REVOFF_BYTES_1(name, __VA_ARGS__))
#define REVOFF_BYTES_3(name, type, ...) (sizeof(type) + REVOFF_BYTES_2(name, __VA_ARGS__))
#define REVOFF_BYTES_4(name, type, ...) (sizeof(type) + REVOFF_BYTES_3(name, __VA_ARGS__))
#define REVOFF_BYTES_5(name, type, ...) (sizeof(type) + REVOFF_BYTES_4(name, __VA_ARGS__))
#define REVOFF_BYTES_6(name, type, ...) (sizeof(type) + REVOFF_BYTES_5(name, __VA_ARGS__))
#define REVOFF_BYTES_7(name, type, ...) (sizeof(type) + REVOFF_BYTES_6(name, __VA_ARGS__))
#define REVOFF_BYTES_8(name, type, ...) (sizeof(type) + REVOFF_BYTES_7(name, __VA_ARGS__))
#define REVOFF_BYTES_9(name, type, ...) (sizeof(type) + REVOFF_BYTES_8(name, __VA_ARGS__))
#define REVOFF_BYTES_10(name, type, ...) (sizeof(type) + REVOFF_BYTES_9(name, __VA_ARGS__))
#define REVOFF_BYTES_11(name, type, ...) (sizeof(type) + REVOFF_BYTES_10(name, __VA_ARGS__))
#define REVOFF_BYTES_12(name, type, ...) (sizeof(type) + REVOFF_BYTES_11(name, __VA_ARGS__))
#define REVOFF_BYTES_13(name, type, ...) (sizeof(type) + REVOFF_BYTES_12(name, __VA_ARGS__))
#define REVOFF_BYTES_14(name, type, ...) (sizeof(type) + REVOFF_BYTES_13(name, __VA_ARGS__))
#define REVOFF_BYTES_15(name, type, ...) (sizeof(type) + REVOFF_BYTES_14(name, __VA_ARGS__))
#define REVOFF_BYTES_16(name, type, ...) (sizeof(type) + REVOFF_BYTES_15(name, __VA_ARGS__))

/**
 * In a REVOFF_KERNEL, the value of parameter `i`, counted from 0, of type `type`. Neither
 * argument is checked: `type` must be the `i`-th type of REVOFF_KERNEL. Another index or a
 * larger type reads memory outside the parameters.
 */
#define REVOFF_PARAM(type, i) (*(type const *)params[i])

/**
 * In front of a kernel for a GPU, which has the parameters that it declares:
 *
 *     REVOFF_GPU_KERNEL void translate(uint64_t *numbers, uint32_t count) {..}
 */
#if defined(__CUDA__) || defined(__CUDACC__) || defined(__HIP__)
#define REVOFF_GPU_KERNEL REVOFF_C_LINKAGE REVOFF_EXPORTED __attribute__((global))
#elif defined(__NVPTX__)
#define REVOFF_GPU_KERNEL REVOFF_C_LINKAGE REVOFF_EXPORTED __attribute__((nvptx_kernel))
#elif defined(__AMDGCN__)
#define REVOFF_GPU_KERNEL REVOFF_C_LINKAGE REVOFF_EXPORTED __attribute__((amdgpu_kernel))
#endif

/** The team (block) that the calling thread is in, below revoff_teams(). */
REVOFF_DEVICE uint32_t revoff_team(void);
/** Number of teams of the launch. */
REVOFF_DEVICE uint32_t revoff_teams(void);
/** The calling thread within its team, below revoff_threads(). */
REVOFF_DEVICE uint32_t revoff_thread(void);
/** Number of threads of a team. */
REVOFF_DEVICE uint32_t revoff_threads(void);

/**
 * Orders the calling thread's accesses to memory with those of the host. Only calls with
 * REVOFF_FLAG_ARGS_ONLY need it, which order their arguments alone: before such a call, if the host
 * function reads other memory of the device, and after it, if the function writes some.
 */
REVOFF_DEVICE void revoff_system_fence(void);

#ifdef __cplusplus
}
#endif

#endif /* REVOFF_H */
