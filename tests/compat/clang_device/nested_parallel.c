// `parallel` in `parallel`: its teams have one thread, and their levels are counted.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int levels[4] = {0}, inner = 0, outer = 0, threads = 0;
    #pragma omp target map(tofrom : levels, inner, outer, threads)
    {
        levels[0] = omp_get_level() * 10 + omp_in_parallel();
        #pragma omp parallel num_threads(32)
        {
            #pragma omp atomic
            outer++;
            #pragma omp single
            levels[1] = omp_get_level();
            #pragma omp parallel num_threads(4)
            {
                #pragma omp atomic
                inner += omp_get_thread_num() + 1;
                #pragma omp atomic
                threads += omp_get_num_threads();
                #pragma omp critical
                levels[2] = omp_get_level();
                #pragma omp parallel
                {
                    #pragma omp critical
                    levels[3] = omp_get_level();
                }
            }
        }
    }
    printf("%d %d %d %d, %d\n", levels[0], levels[1], levels[2], levels[3], inner == outer);
    printf("%d\n", threads == outer);
    long sum = 0;
    #pragma omp target teams distribute parallel for reduction(+ : sum)
    for (int i = 0; i < 64; i++) {
        long mine = 0;
        #pragma omp parallel for reduction(+ : mine)
        for (int j = 0; j < 50; j++)
            mine += i * j;
        sum += mine;
    }
    printf("%ld\n", sum);
    return 0;
}
