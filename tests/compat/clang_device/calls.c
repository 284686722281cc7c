// Threads of complete regions call functions of the program, in teams, in loops and alone.
#include <stdio.h>

#include "revoff_openmp.h"

REVOFF_HOST_FUNCTION(lookup)
REVOFF_HOST_FUNCTION(count)

static int counted;

void lookup(void **args) {
    int *value = args[0];
    *value = *value * 2 + 1;
}

void count(void **args) {
    (void)args;
    __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
}

#pragma omp begin declare target
static int ask(int value) {
    void *addrs[] = {&value};
    size_t sizes[] = {sizeof value};
    unsigned short kinds[] = {REVOFF_MAP_TOFROM | 2 << 8};
    if (revoff_call(REVOFF_CALL(lookup), 1, addrs, sizes, kinds) != REVOFF_STATUS_DONE)
        return -1;
    return value;
}
static void tell(void) {
    revoff_call(REVOFF_CALL(count), 0, 0, 0, 0);
}
#pragma omp end declare target

int main(void) {
    int a[100], sum = 0, alone = 0, sequence = 0;
    #pragma omp target teams distribute parallel for map(from : a) num_teams(3) thread_limit(64)
    for (int i = 0; i < 100; i++)
        a[i] = ask(i);
    #pragma omp target parallel for reduction(+ : sum) num_threads(64)
    for (int i = 0; i < 64; i++)
        if (i % 3 == 0)
            sum += ask(a[i]);
    #pragma omp target map(tofrom : alone, sequence)
    {
        alone = ask(20);
        #pragma omp parallel num_threads(64)
        {
            #pragma omp single
            tell();
            #pragma omp critical
            sequence += ask(1);
        }
        #pragma omp parallel for num_threads(64) reduction(+ : sequence) schedule(dynamic)
        for (int i = 0; i < 40; i++)
            sequence += ask(i);
        tell();
    }
    long check = 0;
    for (int i = 0; i < 100; i++)
        check += a[i] * (i + 1L);
    printf("%ld %d %d %d %d\n", check, sum, alone, sequence > 0 && (sequence - 1600) % 3 == 0, counted);
    return 0;
}
