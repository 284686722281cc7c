/* Every combined construct that begins with target or occurs in a target region, over the same
   work, and the constructs that a device runs within one: sections, single, tasks, ordered,
   scan.
   compare: host */
#include "check.h"

enum { N = 173, M = 7 };

#pragma omp declare target
static unsigned work(int i)
{
    return i * 2654435761u >> (i & 7);
}
#pragma omp end declare target

static unsigned at[N], by;

static void clear(void)
{
    for (int i = 0; i < N; i++)
        at[i] = 1;
    by = 5;
}

static void check(const char *what, int line)
{
    unsigned wrong = 0, sum = 5;
    for (int i = 0; i < N; i++) {
        wrong += at[i] != 1 + work(i);
        sum += work(i);
    }
    expect(line, what, wrong, 0);
    expect(line, what, by, sum);
    printf("%s %u\n", what, by);
}

/* The construct, over a loop that writes each element once and sums. */
#define LOOP(...)                                                          \
    do {                                                                   \
        clear();                                                           \
        DIRECTIVE(omp __VA_ARGS__ map(tofrom : at, by) reduction(+ : by))  \
        for (int i = 0; i < N; i++) {                                      \
            at[i] += work(i);                                              \
            by += work(i);                                                 \
        }                                                                  \
        check(#__VA_ARGS__, __LINE__);                                     \
    } while (0)

/* The same, for a construct in a target region. */
#define INNER(outer, ...)                                    \
    do {                                                     \
        clear();                                             \
        DIRECTIVE(omp outer map(tofrom : at, by))            \
        DIRECTIVE(omp __VA_ARGS__ reduction(+ : by))         \
        for (int i = 0; i < N; i++) {                        \
            at[i] += work(i);                                \
            by += work(i);                                   \
        }                                                    \
        check(#outer " / " #__VA_ARGS__, __LINE__);          \
    } while (0)

/* The same, for a construct in teams, whose reduction is separate. */
#define TEAMS(...)                                                                    \
    do {                                                                              \
        clear();                                                                      \
        DIRECTIVE(omp target teams map(tofrom : at, by) reduction(+ : by))            \
        DIRECTIVE(omp __VA_ARGS__ reduction(+ : by))                                  \
        for (int i = 0; i < N; i++) {                                                 \
            at[i] += work(i);                                                         \
            by += work(i);                                                            \
        }                                                                             \
        check("target teams / " #__VA_ARGS__, __LINE__);                              \
    } while (0)

#define DIRECTIVE(...) _Pragma(#__VA_ARGS__)

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);

    LOOP(target parallel for);
    LOOP(target parallel for num_threads(5) schedule(static, 3));
    LOOP(target parallel for schedule(dynamic, 2));
    LOOP(target parallel for schedule(guided));
    LOOP(target parallel for simd);
    LOOP(target parallel for simd schedule(simd : static, 5) safelen(16));
    LOOP(target parallel loop);
    LOOP(target simd);
    LOOP(target simd simdlen(8));
    LOOP(target teams distribute);
    LOOP(target teams distribute num_teams(3) dist_schedule(static, 4));
    LOOP(target teams distribute simd);
    LOOP(target teams distribute parallel for);
    LOOP(target teams distribute parallel for num_teams(2) thread_limit(4) schedule(static, 1));
    LOOP(target teams distribute parallel for dist_schedule(static, 16) schedule(dynamic));
    LOOP(target teams distribute parallel for simd);
    LOOP(target teams distribute parallel for simd num_teams(3) thread_limit(5));
    LOOP(target teams loop);

    TEAMS(distribute parallel for);
    TEAMS(distribute parallel for simd);
    INNER(target teams num_teams(1), loop);
    INNER(target, teams distribute parallel for);
    INNER(target, teams distribute simd);
    INNER(target, teams loop);
    INNER(target, parallel for);
    INNER(target, parallel for simd);
    INNER(target, parallel loop);
    INNER(target, simd);
    INNER(target, parallel master taskloop);
    INNER(target, parallel masked taskloop);
    INNER(target, parallel master taskloop simd);
    INNER(target, loop bind(thread));

    /* Nested loops, collapsed, with other bounds and steps than 0 and 1; triangular loops. */
    int grid[M][M][M], triangle[M][M] = {{0}};
#pragma omp target teams distribute parallel for simd collapse(3) map(from : grid)
    for (int x = 0; x < M; x++)
        for (int y = M - 1; y >= 0; y--)
            for (int z = 0; z < M; z += 1)
                grid[x][y][z] = x * 100 + y * 10 + z;
    /* GCC 14 cannot compile this for AMD GPUs. */
#ifndef COMPAT_AMD
#pragma omp target parallel for collapse(2) map(tofrom : triangle)
#endif
    for (int x = 0; x < M; x++)
        for (int y = x; y < M; y++)
            triangle[x][y] += x * 10 + y + 1;
    unsigned sum = 0;
    for (int x = 0; x < M; x++)
        for (int y = 0; y < M; y++) {
            EXPECT(triangle[x][y], y >= x ? x * 10 + y + 1 : 0);
            for (int z = 0; z < M; z++)
                sum = sum * 31 + grid[x][y][z];
        }
    printf("%u\n", sum);
    long strange = 0;
#pragma omp target parallel for reduction(+ : strange) map(tofrom : strange)
    for (unsigned char c = 250; c > 13; c -= 7)
        strange += c;
#pragma omp target teams distribute parallel for reduction(+ : strange) map(tofrom : strange)
    for (long long l = 1LL << 40; l < (1LL << 40) + 1000; l += 37)
        strange += l & 0xfff;
    printf("%ld\n", strange);

    /* Worksharing within one parallel region. */
    int parts[4] = {0}, singles = 0, masters = 0, criticals = 0, copied[8] = {0}, firsts[8];
    unsigned ordered[N], scan[N], before[N], next = 3;
    int last = -1;
#pragma omp target parallel num_threads(8) map(tofrom : parts, singles, masters, criticals, copied) \
    map(tofrom : next, last) map(from : ordered, firsts)
    {
        int told = -1;
#pragma omp sections
        {
            parts[0] = 10;
#pragma omp section
            parts[1] = 20;
#pragma omp section
            parts[2] = 30;
#pragma omp section
            parts[3] = 40;
        }
#pragma omp single copyprivate(told)
        {
            singles++;
            told = 77;
        }
        copied[omp_get_thread_num()] = told;
#pragma omp master
        masters++;
#pragma omp masked filter(2)
        masters += 10;
#pragma omp critical
        criticals += 3;
#pragma omp critical(named)
        criticals += 0;
#pragma omp barrier
#pragma omp for ordered schedule(static, 1) firstprivate(next)
        for (int i = 0; i < N; i++) {
            next += i;
#pragma omp ordered
            ordered[i] = i ? ordered[i - 1] * 3 + i : 1;
        }
#pragma omp for lastprivate(last)
        for (int i = 0; i < 8; i++) {
            last = i * 3;
            firsts[i] = last + copied[i];
        }
    }
    for (int i = 0; i < 8; i++)
        printf("%d %d ", copied[i], firsts[i]);
    printf("%d %d %d %d %d %d %d\n", parts[0], parts[1], parts[2], parts[3], singles, masters, criticals);
    printf("%u %d\n", ordered[N - 1], last);

    /* Without inscan with simd or in a combined construct with target, which GCC 14 rejects. */
    unsigned running = 0;
#pragma omp target map(tofrom : running) map(from : scan)
#pragma omp parallel for num_threads(4) reduction(inscan, + : running)
    for (int i = 0; i < N; i++) {
        running += work(i);
#pragma omp scan inclusive(running)
        scan[i] = running;
    }
    printf("%u\n", running);
    running = 0;
#pragma omp target map(tofrom : running) map(from : before)
#pragma omp parallel for num_threads(4) reduction(inscan, + : running)
    for (int i = 0; i < N; i++) {
        before[i] = running;
#pragma omp scan exclusive(running)
        running += work(i);
    }
    unsigned sum_of = 0;
    for (int i = 0; i < N; i++) {
        EXPECT(before[i], sum_of);
        sum_of += work(i);
        EXPECT(scan[i], sum_of);
    }

    /* Sections and tasks with a combined construct; tasks with dependences and groups. */
    int tasks[16] = {0}, chain = 1, groups = 0, taken = 0;
#pragma omp target map(tofrom : parts)
#pragma omp parallel sections num_threads(2)
    {
        parts[0]++;
#pragma omp section
        parts[1]++;
    }
#pragma omp target parallel num_threads(4) map(tofrom : tasks, chain, groups, taken)
#pragma omp single
    {
        for (int i = 0; i < 16; i++)
#pragma omp task firstprivate(i) shared(tasks)
            tasks[i] = i * i;
#pragma omp taskwait
        for (int i = 0; i < 6; i++)
#pragma omp task depend(inout : chain) shared(chain)
            chain = chain * 3 + i;
#pragma omp taskgroup task_reduction(+ : groups)
        {
            for (int i = 0; i < 10; i++)
#pragma omp task in_reduction(+ : groups)
                groups += i;
        }
#pragma omp taskloop grainsize(3) reduction(+ : taken)
        for (int i = 0; i < 20; i++)
            taken += i;
    }
    for (int i = 0; i < 16; i++)
        EXPECT(tasks[i], i * i);
    printf("%d %d %d %d %d\n", parts[0], parts[1], chain, groups, taken);

    /* Conditions: whether the region runs on the device, whether it is parallel, simd; a
       cancelled region. */
    int where = 7, threads = 0, found = -1;
#pragma omp target parallel if (target : where > 5) if (parallel : where < 5) map(from : threads)
    threads = omp_get_num_threads();
    EXPECT(threads, 1);
#pragma omp target parallel for simd if (simd : where < 5) num_threads(3) map(from : before)
    for (int i = 0; i < N; i++)
        before[i] = work(i) ^ i;
#pragma omp target parallel for map(tofrom : found)
    for (int i = 0; i < N; i++)
        if (i == 100)
#pragma omp atomic write
            found = i;
    EXPECT(found, 100);
    for (int i = 0; i < N; i++)
        EXPECT(before[i], work(i) ^ i);
    return finish();
}
