/* The cost of tasks with dependences: prints a line for each shape, "NAME TASKS NANOSECONDS",
   where the time is per task, the median over batches. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../clang/parts/one_thread.h"

enum { BATCHES = 7, ROWS = 256 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int x[ROWS];

/* Small kernels, each after the previous one. */
static void chain(int tasks)
{
#pragma omp target data map(tofrom : x)
    {
        for (int i = 0; i < tasks; i++) {
            TARGET(nowait depend(inout : x[0]) map(tofrom : x))
            x[0] += 1;
        }
#pragma omp taskwait
    }
}

/* One chain for each row, side by side. */
static void chains(int tasks)
{
#pragma omp target data map(tofrom : x)
    {
        for (int i = 0; i < tasks; i++) {
            int row = i % ROWS;
            TARGET(nowait depend(inout : x[row]) map(tofrom : x) firstprivate(row))
            x[row] += 1;
        }
#pragma omp taskwait
    }
}

/* Without regions. */
static void host_tasks(int tasks)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < tasks; i++) {
#pragma omp task depend(inout : x[0]) shared(x)
        x[0] += 1;
    }
}

static void measure(const char *name, void (*f)(int), int tasks)
{
    double times[BATCHES];
    f(tasks);
    for (int b = 0; b < BATCHES; b++) {
        double start = now();
        f(tasks);
        times[b] = (now() - start) / tasks;
    }
    qsort(times, BATCHES, sizeof *times, compare);
    printf("%s %d %.1f\n", name, tasks, times[BATCHES / 2]);
}

int main(void)
{
    measure("chain", chain, 1000);
    measure("chains", chains, 2000);
    measure("host-tasks", host_tasks, 2000);
    return 0;
}
