// `schedule(runtime)`, with schedules that the region sets.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int runs[300] = {0}, kind = 0, chunk = 0;
    #pragma omp target map(tofrom : runs, kind, chunk)
    {
        omp_set_schedule(omp_sched_dynamic, 4);
        omp_sched_t found;
        omp_get_schedule(&found, &chunk);
        kind = found;
        #pragma omp parallel for schedule(runtime)
        for (int i = 0; i < 300; i++)
            runs[i]++;
    }
    int once = 0;
    for (int i = 0; i < 300; i++)
        once += runs[i] == 1;
    printf("%d %d %d\n", once, kind == omp_sched_dynamic, chunk);
    return 0;
}
