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
 *     REVOFF_KERNEL(translate)
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
 * For a GPU only the head of the kernel is another, see REVOFF_GPU_KERNEL. OpenMP
 * programs by clang include revoff_openmp.h in the place of this.
 *
 * The host function gets the addresses of its own copies of what is mapped, as
 * libgomp hands them to an outlined `target device(ancestor:1)` region.
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

/** What the host finds by name in an image built with -fvisibility=hidden too. */
#define REVOFF_EXPORTED __attribute__((visibility("default")))

/**
 * In CUDA and HIP, says that a function or a variable is the device's; elsewhere all
 * are. A `const` variable may go to constant memory there, where no host looks for it.
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
 */
REVOFF_DEVICE void GOMP_target_ext(int device, void (*fn)(void *), size_t mapnum,
                                   void **hostaddrs, size_t *sizes, unsigned short *kinds,
                                   unsigned int flags, void **depend, void **args);

/**
 * GOMP_target_ext with a status for a result, a REVOFF_STATUS_*: _NONE where none is
 * reported, which is so on GCC's wires.
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
 * Says, at file scope and without a semicolon, that this image calls the host
 * function `name`. May stand in several files of an image.
 *
 * Defines the revoff_function_info by which the host finds the name. Signature
 * 0: a C declaration has none to compare.
 */
#define REVOFF_HOST_FUNCTION(name) REVOFF_FUNCTION_INFO(name)

/**
 * The `fn` argument of GOMP_target_ext for a REVOFF_HOST_FUNCTION. It is a name
 * for the host, no code: calling it on the device goes wrong.
 */
#define REVOFF_CALL(name) REVOFF_FUNCTION_WORD(name)

/* What the two are made of, for headers that make more of them. */
#define REVOFF_FUNCTION_INFO(name)                                                               \
    REVOFF_C_LINKAGE REVOFF_EXPORTED __attribute__((weak)) REVOFF_DEVICE_CONST                   \
        revoff_function_info __revoff_fn_##name;                                                 \
    REVOFF_DEVICE_CONST revoff_function_info __revoff_fn_##name = {0};
#define REVOFF_FUNCTION_WORD(name) ((void (*)(void *))(uintptr_t)&__revoff_fn_##name)

/**
 * Head of a kernel for the `host` device; its body follows. `params[i]` points
 * to the value of parameter `i`, see REVOFF_PARAM.
 */
#define REVOFF_KERNEL(name)                                                                      \
    REVOFF_C_LINKAGE REVOFF_EXPORTED void name(const void *const *params);                       \
    void name(const void *const *params)

/** In a REVOFF_KERNEL, the value of parameter `i`, of type `type`. */
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

#ifdef __cplusplus
}
#endif

#endif /* REVOFF_H */
