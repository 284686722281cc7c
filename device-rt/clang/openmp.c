// Functions for complete OpenMP programs by clang 22 that LLVM 19's device runtime lacks or
// implements wrongly. `cargo xtask images --pieces --openmp-runtime ..` links both; if both
// define a function, this one is used. See docs/llvm.md for details. All functions are hidden,
// so that the linker of device code drops those that no kernel calls.

#pragma clang attribute push(__attribute__((visibility("hidden"))), apply_to = any(function, variable))

typedef struct ident ident_t;
typedef int int32;
typedef unsigned uint32;
typedef long int64;
typedef unsigned long uint64;

int omp_get_num_threads(void);
int omp_get_thread_num(void);
void omp_get_schedule(int *kind, int *chunk);
void __kmpc_flush(ident_t *where);
void __kmpc_barrier(ident_t *where, int thread);

void __kmpc_parallel_51(ident_t *where, int thread, int is_parallel, int threads, int bind,
                        void *region, void *wrapper, void **args, uint64 number_of_args);

// `parallel`. LLVM 22 also says whether `num_threads` is strict, which LLVM 19's runtime
// cannot promise.
void __kmpc_parallel_60(ident_t *where, int thread, int is_parallel, int threads, int bind,
                        void *region, void *wrapper, void **args, uint64 number_of_args,
                        int is_strict) {
    (void)is_strict;
    __kmpc_parallel_51(where, thread, is_parallel, threads, bind, region, wrapper, args,
                       number_of_args);
}

// `critical` with a hint, which is ignored.

typedef int critical_name[8];

void __kmpc_critical(ident_t *where, int thread, critical_name *name);

void __kmpc_critical_with_hint(ident_t *where, int thread, critical_name *name, uint32 hint) {
    (void)hint;
    __kmpc_critical(where, thread, name);
}

// Loops with a dynamic schedule. LLVM 19's functions take part in the barrier of the whole
// block, which ends the wait of a team's first thread for `parallel` too early. They also read
// a shared variable before that barrier, so that some threads may miss its value. All threads
// of a team run the same loop, so a team has one state for all of them. A thread that is alone
// in its team needs no state: clang sets *is_last to 0 before a loop.

struct loop {
    uint64 next;
    uint64 iterations;
    uint64 chunk;
    int64 first;
    int64 step;
};

static __attribute__((address_space(3), loader_uninitialized)) struct loop team_loop;

enum { SCHEDULE_RUNTIME = 37, SCHEDULE_AUTO = 38, SCHEDULE_OF_MODIFIERS = 0xffff };
enum { RUNTIME_STATIC = 1 };

static void loop_begin(ident_t *where, int thread, int schedule, int64 first, uint64 iterations,
                       int64 step, int64 chunk) {
    uint64 threads = (uint64)omp_get_num_threads();
    if (threads == 1)
        return;
    schedule &= SCHEDULE_OF_MODIFIERS;
    int is_even = schedule == SCHEDULE_AUTO;
    if (schedule == SCHEDULE_RUNTIME) {
        int kind = 0, set = 0;
        omp_get_schedule(&kind, &set);
        chunk = set;
        is_even = (kind & SCHEDULE_OF_MODIFIERS) == RUNTIME_STATIC && set < 1;
    }
    if (is_even)
        chunk = (int64)((iterations + threads - 1) / threads);
    // Without this barrier, a thread may still be in the previous loop if that has `nowait`.
    __kmpc_barrier(where, thread);
    if (omp_get_thread_num() == 0) {
        team_loop.next = 0;
        team_loop.iterations = iterations;
        team_loop.chunk = chunk < 1 ? 1 : (uint64)chunk;
        team_loop.first = first;
        team_loop.step = step;
    }
    __kmpc_barrier(where, thread);
}

// Sets *begin to the first iteration of the next chunk and returns the chunk's length, 0 if
// none is left.
static uint64 loop_next(uint64 *begin) {
    uint64 next = __scoped_atomic_fetch_add(&team_loop.next, team_loop.chunk, __ATOMIC_RELAXED,
                                            __MEMORY_SCOPE_WRKGRP);
    if (next >= team_loop.iterations)
        return 0;
    uint64 rest = team_loop.iterations - next;
    *begin = next;
    return rest < team_loop.chunk ? rest : team_loop.chunk;
}

// NAME is the suffix of the runtime's functions for loop variables of type T; S is the signed
// type of the same width. A loop that is alone in its team keeps the bounds that clang has
// stored.
#define LOOPS(NAME, T, S)                                                                         \
    void __kmpc_dispatch_init_##NAME(ident_t *where, int thread, int schedule, T first, T last,   \
                                     S step, S chunk) {                                           \
        uint64 iterations = 0;                                                                    \
        if (step > 0 && first <= last)                                                            \
            iterations = ((uint64)last - (uint64)first) / (uint64)(int64)step + 1;                \
        else if (step < 0 && first >= last)                                                       \
            iterations = ((uint64)first - (uint64)last) / (0 - (uint64)(int64)step) + 1;          \
        loop_begin(where, thread, schedule, (int64)first, iterations, step, chunk);               \
    }                                                                                             \
    int __kmpc_dispatch_next_##NAME(ident_t *where, int thread, int *is_last, T *first, T *last,  \
                                    S *step) {                                                    \
        (void)where, (void)thread;                                                                \
        if (omp_get_num_threads() == 1) {                                                         \
            int is_done = *is_last || (*step > 0 ? *first > *last : *first < *last);              \
            *is_last = 1;                                                                         \
            return !is_done;                                                                      \
        }                                                                                         \
        uint64 begin = 0, count = loop_next(&begin);                                              \
        if (count == 0)                                                                           \
            return 0;                                                                             \
        uint64 from = (uint64)team_loop.first, by = (uint64)team_loop.step;                       \
        *first = (T)(from + begin * by);                                                          \
        *last = (T)(from + (begin + count - 1) * by);                                             \
        *step = (S)by;                                                                            \
        *is_last = begin + count == team_loop.iterations;                                         \
        return 1;                                                                                 \
    }                                                                                             \
    void __kmpc_dispatch_fini_##NAME(ident_t *where, int thread) {                                \
        (void)where, (void)thread;                                                                \
    }

LOOPS(4, int32, int32)
LOOPS(4u, uint32, int32)
LOOPS(8, int64, int64)
LOOPS(8u, uint64, int64)

void __kmpc_dispatch_deinit(ident_t *where, int thread) {
    (void)where, (void)thread;
}

#if defined(__NVPTX__)

// Locks. LLVM 19's omp_set_lock continues if the lock is taken, and its omp_test_lock does not
// take a free lock.

int omp_test_lock(int *lock) {
    int is_free = 0;
    return __scoped_atomic_compare_exchange_n(lock, &is_free, 1, 0, __ATOMIC_SEQ_CST,
                                              __ATOMIC_SEQ_CST, __MEMORY_SCOPE_DEVICE);
}

void omp_set_lock(int *lock) {
    while (!omp_test_lock(lock))
        ;
}

void omp_unset_lock(int *lock) {
    __scoped_atomic_store_n(lock, 0, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}

// The locks of `critical`, impl::setCriticalLock and impl::unsetCriticalLock: LLVM 19 declares
// them for NVIDIA but defines them only for AMD.

void _ZN4impl15setCriticalLockEP10omp_lock_t(int *lock) {
    omp_set_lock(lock);
}

void _ZN4impl17unsetCriticalLockEP10omp_lock_t(int *lock) {
    omp_unset_lock(lock);
}

// Barriers of a team. In a team of one thread (`num_threads` below 32, a false `if`, nested
// `parallel`), LLVM 19's barrier waits for threads that never arrive.

int __kmpc_is_spmd_exec_mode(void);
void __kmpc_barrier_simple_spmd(ident_t *where, int thread);

void __kmpc_barrier(ident_t *where, int thread) {
    int threads = omp_get_num_threads();
    if (threads == 1)
        __kmpc_flush(where);
    else if (__kmpc_is_spmd_exec_mode())
        __kmpc_barrier_simple_spmd(where, thread);
    else
        // The first thread of the team waits at another barrier.
        __asm__ volatile("barrier.sync 7, %0;" : : "r"(threads) : "memory");
}

#elif defined(__AMDGCN__)

// The version of the code objects that clang 22 writes; it determines how kernels find the
// sizes of their grid. Otherwise AMD's device libraries define it.
extern const int __oclc_ABI_version;
const int __oclc_ABI_version = 600;

// Functions that clang calls for copies. There is no C library.

void *memset(void *to, int byte, uint64 size) {
    for (uint64 i = 0; i < size; i++)
        ((volatile unsigned char *)to)[i] = (unsigned char)byte;
    return to;
}

void *memmove(void *to, const void *from, uint64 size) {
    volatile unsigned char *into = to;
    const unsigned char *bytes = from;
    for (uint64 i = 0; i < size; i++) {
        uint64 at = (uint64)to < (uint64)from ? i : size - 1 - i;
        into[at] = bytes[at];
    }
    return to;
}

void *memcpy(void *to, const void *from, uint64 size) {
    return memmove(to, from, size);
}

#endif

#pragma clang attribute pop
