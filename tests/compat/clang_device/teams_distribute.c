// `teams distribute`: each iteration in one team, by schedules and numbers of teams.
#include <stdio.h>

int main(void) {
    static int a[500], b[500], c[500];
    #pragma omp target teams distribute map(from : a)
    for (int i = 0; i < 500; i++)
        a[i] = 3 * i;
    #pragma omp target teams distribute num_teams(7) dist_schedule(static, 3) map(from : b)
    for (int i = 499; i >= 0; i--)
        b[i] = i ^ 5;
    #pragma omp target teams num_teams(4) map(from : c)
    #pragma omp distribute
    for (int i = 0; i < 500; i += 2) {
        c[i] = i;
        c[i + 1] = -i;
    }
    long sums[3] = {0, 0, 0};
    for (int i = 0; i < 500; i++) {
        sums[0] += a[i] * (long)i;
        sums[1] += b[i] * (long)i;
        sums[2] += c[i] * (long)i;
    }
    printf("%ld %ld %ld\n", sums[0], sums[1], sums[2]);
    return 0;
}
