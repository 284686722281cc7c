/* A region whose threads call the host; for GPUs a form that does not need LLVM's device
   runtime. */
#ifndef REGION_H
#define REGION_H

#define PRAGMA(...) _Pragma(#__VA_ARGS__)

#ifdef GPU
#define REGION(...) PRAGMA(omp target teams ompx_bare num_teams(2) thread_limit(32) __VA_ARGS__)
#else
#define REGION(...) PRAGMA(omp target parallel num_threads(4) __VA_ARGS__)
#endif

/* Distributes the numbers below `count` over the region's threads. */
#define EACH(i, count)                                                                           \
    for (unsigned i = revoff_team() * revoff_threads() + revoff_thread(); i < (unsigned)(count); \
         i += revoff_teams() * revoff_threads())

/* An unsigned short for kinds: the mapping and the alignment of the bytes. */
#define KIND(map, log2_align) ((unsigned short)((map) | (log2_align) << 8))

#endif
