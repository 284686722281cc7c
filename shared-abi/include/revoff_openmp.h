/*
 * revoff.h for OpenMP programs that clang compiles: code in target regions calls
 * functions of the program that holds them.
 *
 *     #include "revoff_openmp.h"
 *
 *     REVOFF_HOST_FUNCTION(lookup)
 *     void lookup(void **args) {..}
 *
 *     #pragma omp target parallel for map(tofrom: numbers[0:count])
 *     for (int i = 0; i < count; i++) {
 *         .. revoff_call(REVOFF_CALL(lookup), 1, addrs, sizes, kinds) ..
 *     }
 *
 * The program is compiled once for each kind of device and once for its host. On a
 * device, revoff_call calls the host through device-rt, which is linked into the
 * device's image. On the host, where regions run that no device runs, it calls the
 * function directly: the function gets the region's own variables instead of copies,
 * and the status is always success. Requires C11 or C++17.
 */

#ifndef REVOFF_OPENMP_H
#define REVOFF_OPENMP_H

#if !defined(_OPENMP) || !defined(__clang__)
#error "revoff_openmp.h is for clang -fopenmp; programs by GCC have target device(ancestor: 1)"
#endif

#pragma omp begin declare target

#include "revoff.h"

#ifdef __cplusplus
extern "C" {
#endif

/* OpenMP's functions, which omp.h declares as well. */
int omp_get_team_num(void);
int omp_get_num_teams(void);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_in_parallel(void);

#pragma omp begin declare variant match(device = {kind(host)})

static inline void GOMP_target_ext(int device, void (*fn)(void *), size_t mapnum,
                                   void **hostaddrs, size_t *sizes, unsigned short *kinds,
                                   unsigned int flags, void **depend, void **args)
{
    uint32_t status = REVOFF_STATUS_NOT_OFFLOADED;
    (void)mapnum, (void)sizes, (void)kinds, (void)depend;
    if (device == GOMP_DEVICE_HOST_FALLBACK && fn) {
        ((void (*)(void **))fn)(hostaddrs);
        status = REVOFF_STATUS_DONE;
    }
    if (flags & REVOFF_FLAG_STATUS)
        *(uint32_t *)(void *)args = status;
}

/* As in revoff.h, whose function was compiled before the host's GOMP_target_ext was declared.
   */
static inline uint32_t revoff_call(void (*fn)(void *), size_t mapnum, void **hostaddrs,
                                   size_t *sizes, unsigned short *kinds)
{
    uint32_t status = REVOFF_STATUS_NONE;
    GOMP_target_ext(GOMP_DEVICE_HOST_FALLBACK, fn, mapnum, hostaddrs, sizes, kinds,
                    REVOFF_FLAG_STATUS, NULL, (void **)(void *)&status);
    return status;
}

#pragma omp end declare variant

/*
 * On processors, OpenMP's runtime creates teams and threads from one call of a region. Outside
 * `parallel` one thread of a team runs, and LLVM's runtime returns the number of threads that a
 * `parallel` would have.
 */
#pragma omp begin declare variant match(device = {kind(cpu)})
static inline uint32_t revoff_team(void) { return (uint32_t)omp_get_team_num(); }
static inline uint32_t revoff_teams(void) { return (uint32_t)omp_get_num_teams(); }
static inline uint32_t revoff_thread(void) { return (uint32_t)omp_get_thread_num(); }
static inline uint32_t revoff_threads(void)
{
    return omp_in_parallel() ? (uint32_t)omp_get_num_threads() : 1;
}
static inline void revoff_system_fence(void) { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
#pragma omp end declare variant

#ifdef __cplusplus
}
#endif

#pragma omp end declare target

/**
 * As in revoff.h; also declares the function, for the host only: devices do not compile it. The
 * executable exports it, see docs/llvm.md.
 */
#undef REVOFF_HOST_FUNCTION
#define REVOFF_HOST_FUNCTION(name)                                                               \
    _Pragma("omp begin declare target")                                                          \
    REVOFF_FUNCTION_INFO(name)                                                                   \
    typedef void (*revoff_word_of_##name)(void *);                                               \
    __attribute__((unused)) static inline revoff_word_of_##name revoff_call_of_##name(void)      \
    {                                                                                            \
        return REVOFF_FUNCTION_WORD(name);                                                       \
    }                                                                                            \
    _Pragma("omp begin declare variant match(device = {kind(host)})")                            \
    REVOFF_C_LINKAGE void name(void **args);                                                     \
    __attribute__((unused)) static inline revoff_word_of_##name revoff_call_of_##name(void)      \
    {                                                                                            \
        return (revoff_word_of_##name)name;                                                      \
    }                                                                                            \
    _Pragma("omp end declare variant")                                                           \
    _Pragma("omp end declare target")

#undef REVOFF_CALL
#define REVOFF_CALL(name) revoff_call_of_##name()

#endif /* REVOFF_OPENMP_H */
