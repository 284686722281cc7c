/* Memory that target regions allocate: by omp_alloc and related functions with each allocator,
   by clauses and directives, in every thread. GCC 14 does not implement uses_allocators.
   compare: host */
#include <stdint.h>
#include <string.h>
#include "check.h"

enum { N = 64 };

#pragma omp declare target
/* Writes all of an allocation and reads it back. */
static unsigned fill(omp_allocator_handle_t from, size_t size, int seed)
{
    unsigned char *at = omp_alloc(size, from);
    if (!at)
        return 1;
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(i * 7 + seed);
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += at[i] * (i + 1);
    omp_free(at, from);
    return sum;
}

static int aligned(omp_allocator_handle_t from, size_t to)
{
    char *at = omp_aligned_alloc(to, 3 * to, from);
    int is = at && (uintptr_t)at % to == 0;
    if (at)
        memset(at, 5, 3 * to);
    omp_free(at, from);
    return is;
}

static int cleared(omp_allocator_handle_t from)
{
    int *at = omp_calloc(50, sizeof *at, from), sum = 0;
    if (!at)
        return -1;
    for (int i = 0; i < 50; i++) {
        sum += at[i] != 0;
        at[i] = i;
    }
    at = omp_realloc(at, 100 * sizeof *at, from, from);
    if (!at)
        return -2;
    for (int i = 0; i < 50; i++)
        sum += at[i] != i;
    omp_free(at, from);
    return sum;
}
#pragma omp end declare target

int main(void)
{
    int initial = -1, sizes[8], is_aligned[6], is_cleared[3];
    unsigned sums[10];
#pragma omp target map(from : initial, sums, is_aligned, is_cleared)
    {
        initial = omp_is_initial_device();
        sums[0] = fill(omp_default_mem_alloc, 1000, 1);
        sums[1] = fill(omp_large_cap_mem_alloc, 5000, 2);
        sums[2] = fill(omp_const_mem_alloc, 300, 3);
        sums[3] = fill(omp_high_bw_mem_alloc, 300, 4);
        sums[4] = fill(omp_low_lat_mem_alloc, 300, 5);
        sums[5] = fill(omp_cgroup_mem_alloc, 300, 6);
        sums[6] = fill(omp_pteam_mem_alloc, 300, 7);
        sums[7] = fill(omp_thread_mem_alloc, 300, 8);
        sums[8] = fill(omp_null_allocator, 300, 9);
        sums[9] = fill(omp_default_mem_alloc, 1, 10);
        for (int i = 0; i < 6; i++)
            is_aligned[i] = aligned(omp_default_mem_alloc, (size_t)8 << i);
        is_cleared[0] = cleared(omp_default_mem_alloc);
        is_cleared[1] = cleared(omp_low_lat_mem_alloc);
        is_cleared[2] = cleared(omp_null_allocator);
    }
    EXPECT_ON_DEVICE(initial);
    for (int i = 0; i < 10; i++)
        printf("%u ", sums[i]);
    puts("");
    for (int i = 0; i < 6; i++)
        EXPECT(is_aligned[i], 1);
    for (int i = 0; i < 3; i++)
        EXPECT(is_cleared[i], 0);

    /* An allocator with traits, of the region itself. */
    unsigned own = 0;
    int of_none = -1;
#pragma omp target map(from : own, of_none)
    {
        omp_alloctrait_t traits[3] = {{omp_atk_alignment, 128}, {omp_atk_pool_size, 4096},
                                      {omp_atk_fallback, omp_atv_null_fb}};
        omp_allocator_handle_t mine = omp_init_allocator(omp_default_mem_space, 3, traits);
        own = fill(mine, 1000, 11) + aligned(mine, 128);
        of_none = omp_alloc(100000, mine) == NULL;
        omp_destroy_allocator(mine);
    }
    printf("%u\n", own);
    EXPECT(of_none, 1);

    /* Each thread with its own allocation, at the same time. */
    unsigned each[N];
#pragma omp target teams distribute parallel for num_teams(4) thread_limit(8) map(from : each)
    for (int i = 0; i < N; i++)
        each[i] = fill(omp_default_mem_alloc, 10 + i * 3, i) + fill(omp_low_lat_mem_alloc, 10 + i, i);
    for (int i = 0; i < N; i++)
        printf("%u ", each[i]);
    puts("");

    /* The clause, with private, firstprivate and reduction variables. */
    int x = 5, big[40], sum = 0, shared[N];
    for (int i = 0; i < 40; i++)
        big[i] = i;
#pragma omp target parallel for num_threads(4) firstprivate(x, big) private(sizes) map(from : shared) \
    allocate(omp_default_mem_alloc : x, big) allocate(omp_low_lat_mem_alloc : sizes)
    for (int i = 0; i < N; i++) {
        sizes[i % 8] = x + i;
        big[i % 40] += sizes[i % 8];
        shared[i] = big[i % 40] - sizes[i % 8] + i;
        x = 5;
        big[i % 40] = i % 40;
    }
    for (int i = 0; i < N; i++)
        EXPECT(shared[i], i % 40 + i);
#pragma omp target teams num_teams(2) map(tofrom : sum) reduction(+ : sum)
#pragma omp parallel for num_threads(4) reduction(+ : sum) allocate(omp_default_mem_alloc : sum)
    for (int i = 0; i < N; i++)
        sum += i;
    EXPECT(sum, N * (N - 1));

    /* The directive, with a function's variables. */
    int by_directive = 0;
#pragma omp target map(from : by_directive)
    {
        int here[20], one = 3;
#pragma omp allocate(here, one) allocator(omp_default_mem_alloc) align(64)
        for (int i = 0; i < 20; i++)
            here[i] = i * one;
        by_directive = here[19] + (int)((uintptr_t)here % 64 + (uintptr_t)&one % 64);
    }
    EXPECT(by_directive, 57);
    return finish();
}
