/* A target region of one thread; for GPUs a form that does not need LLVM's device runtime. */
#ifndef ONE_THREAD_H
#define ONE_THREAD_H

#define ONE_THREAD_PRAGMA(...) _Pragma(#__VA_ARGS__)

#ifdef GPU
#define TARGET(...) \
    ONE_THREAD_PRAGMA(omp target teams ompx_bare num_teams(1) thread_limit(1) __VA_ARGS__)
#else
#define TARGET(...) ONE_THREAD_PRAGMA(omp target __VA_ARGS__)
#endif

#endif
