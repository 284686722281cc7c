/* The cost of calls of libomptarget: prints a line for each, "NAME BYTES NANOSECONDS", where
   the time is the median over batches. BENCH_MILLISECONDS is the duration of each measurement
   (10). */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 9, BURST = 64, LARGEST = 64 << 20 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static double budget = 10e6;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef void function(char *p, size_t n);

/* Measures FUNCTION, which performs EACH operations per call. */
static void measure(const char *name, function *f, char *p, size_t n, int each)
{
    double times[BATCHES], start = now();
    f(p, n);
    double once = now() - start;
    long count = (long)(budget / BATCHES / (once > 1 ? once : 1));
    if (count < 1)
        count = 1;
    for (int b = 0; b < BATCHES; b++) {
        start = now();
        for (long i = 0; i < count; i++)
            f(p, n);
        times[b] = (now() - start) / count / each;
    }
    qsort(times, BATCHES, sizeof *times, compare);
    printf("%s %zu %.1f\n", name, n, times[BATCHES / 2]);
    fflush(stdout);
}

static void launch(char *p, size_t n)
{
    (void)p, (void)n;
#pragma omp target
    {
    }
}

static void nowait(char *p, size_t n)
{
    (void)p, (void)n;
    for (int i = 0; i < BURST; i++) {
#pragma omp target nowait
        {
        }
    }
#pragma omp taskwait
}

static void data_to(char *p, size_t n)
{
#pragma omp target data map(to : p[0 : n])
    ;
}

static void data_from(char *p, size_t n)
{
#pragma omp target data map(from : p[0 : n])
    ;
}

static void data_tofrom(char *p, size_t n)
{
#pragma omp target data map(tofrom : p[0 : n])
    ;
}

static void update_to(char *p, size_t n)
{
#pragma omp target update to(p[0 : n])
}

static void update_from(char *p, size_t n)
{
#pragma omp target update from(p[0 : n])
}

static char *device_memory;

static void memcpy_to(char *p, size_t n)
{
    omp_target_memcpy(device_memory, p, n, 0, 0, omp_get_default_device(), omp_get_initial_device());
}

static void memcpy_from(char *p, size_t n)
{
    omp_target_memcpy(p, device_memory, n, 0, 0, omp_get_initial_device(), omp_get_default_device());
}

int main(void)
{
    static const size_t sizes[] = {8, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, LARGEST};
    const char *asked = getenv("BENCH_MILLISECONDS");
    if (asked)
        budget = atof(asked) * 1e6;
    char *p = malloc(LARGEST);
    memset(p, 1, LARGEST);
    measure("launch", launch, p, 0, 1);
    measure("nowait", nowait, p, 0, BURST);
    device_memory = omp_target_alloc(LARGEST, omp_get_default_device());
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        measure("data-to-fresh", data_to, p, n, 1);
        measure("data-from-fresh", data_from, p, n, 1);
        measure("data-tofrom-fresh", data_tofrom, p, n, 1);
#pragma omp target enter data map(to : p[0 : n])
        measure("data-to-present", data_to, p, n, 1);
        measure("data-from-present", data_from, p, n, 1);
        measure("data-tofrom-present", data_tofrom, p, n, 1);
        measure("update-to", update_to, p, n, 1);
        measure("update-from", update_from, p, n, 1);
#pragma omp target exit data map(delete : p[0 : n])
        measure("memcpy-to", memcpy_to, p, n, 1);
        measure("memcpy-from", memcpy_from, p, n, 1);
    }
    omp_target_free(device_memory, omp_get_default_device());
    free(p);
    return 0;
}
