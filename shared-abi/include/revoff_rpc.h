/*
 * rpc_host_call of LLVM's C library for GPUs, for OpenMP programs that clang compiles:
 * calls a function by its address on the host, with a copy of `size` bytes at `data`,
 * and returns what it returns. The program passes the address into the region:
 *
 *     unsigned long long lookup(void *data) {..}
 *
 *     void *function = (void *)lookup;
 *     #pragma omp target firstprivate(function)
 *     answer = rpc_host_call(function, &question, sizeof question);
 *
 * The host calls what the executable exports (-rdynamic), or the library that has the
 * region, and nothing else. A call that it refuses is an error of the region, and returns 0.
 */

#ifndef REVOFF_RPC_H
#define REVOFF_RPC_H

#include "revoff_openmp.h"

#pragma omp begin declare target

/* The host's name for this function; it is not defined on the host. */
REVOFF_FUNCTION_INFO(rpc_host_call)

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((unused)) static inline unsigned long long rpc_host_call(void *function, void *data,
                                                                       size_t size)
{
    unsigned long long result = 0;
    void *addrs[] = {function, data, &result};
    size_t sizes[] = {sizeof function, size, sizeof result};
    unsigned short kinds[] = {REVOFF_MAP_FIRSTPRIVATE_INT | 3 << 8, REVOFF_MAP_TO,
                              REVOFF_MAP_FROM | 3 << 8};
    revoff_call(REVOFF_FUNCTION_WORD(rpc_host_call), 3, addrs, sizes, kinds);
    return result;
}

#pragma omp begin declare variant match(device = {kind(host)})
__attribute__((unused)) static inline unsigned long long rpc_host_call(void *function, void *data,
                                                                       size_t size)
{
    void *copy = __builtin_memcpy(__builtin_alloca(size), data, size);
    return ((unsigned long long (*)(void *))function)(copy);
}
#pragma omp end declare variant

#ifdef __cplusplus
}
#endif

#pragma omp end declare target

#endif /* REVOFF_RPC_H */
