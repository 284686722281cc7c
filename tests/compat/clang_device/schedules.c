// Schedules of loops: each iteration runs exactly once, on any thread.
#include <stdio.h>
#include <string.h>

#define N 777

static int runs[N];

static void show(const char *name) {
    int once = 0;
    for (int i = 0; i < N; i++)
        once += runs[i] == 1 + i % 3;
    printf("%s %d\n", name, once);
    memset(runs, 0, sizeof runs);
}

int main(void) {
    #pragma omp target parallel for map(tofrom : runs)
    for (int i = 0; i < N; i++)
        runs[i] += 1 + i % 3;
    show("none");
    #pragma omp target parallel for schedule(static) map(tofrom : runs)
    for (int i = 0; i < N; i++)
        runs[i] += 1 + i % 3;
    show("static");
    #pragma omp target parallel for schedule(static, 5) map(tofrom : runs)
    for (int i = 0; i < N; i++)
        runs[i] += 1 + i % 3;
    show("static 5");
    #pragma omp target parallel for schedule(dynamic) map(tofrom : runs)
    for (int i = 0; i < N; i++)
        runs[i] += 1 + i % 3;
    show("dynamic");
    #pragma omp target parallel for schedule(dynamic, 7) map(tofrom : runs)
    for (int i = N - 1; i >= 0; i--)
        runs[i] += 1 + i % 3;
    show("dynamic 7");
    #pragma omp target parallel for schedule(guided, 2) map(tofrom : runs)
    for (int i = 0; i < N; i++)
        runs[i] += 1 + i % 3;
    show("guided 2");
    #pragma omp target parallel for schedule(auto) map(tofrom : runs)
    for (int i = 0; i < N; i++)
        runs[i] += 1 + i % 3;
    show("auto");
    #pragma omp target teams distribute parallel for schedule(dynamic, 3) map(tofrom : runs)
    for (int i = 0; i < N; i++)
        runs[i] += 1 + i % 3;
    show("teams, dynamic 3");
    #pragma omp target teams distribute parallel for dist_schedule(static, 64) schedule(static, 1) map(tofrom : runs)
    for (int i = 0; i < N; i++)
        runs[i] += 1 + i % 3;
    show("teams, static 64 and 1");
    return 0;
}
