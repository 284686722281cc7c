// `distribute parallel for` in a `teams` region with other code, and team-private arrays.
#include <omp.h>
#include <stdio.h>

int main(void) {
    static int a[512], b[16][32], teams[16];
    #pragma omp target teams num_teams(4) map(from : a)
    {
        int offset = 5;
        #pragma omp distribute parallel for firstprivate(offset)
        for (int i = 0; i < 512; i++)
            a[i] = offset + i;
    }
    #pragma omp target teams distribute num_teams(5) map(from : b, teams)
    for (int i = 0; i < 16; i++) {
        int tile[32], sum = 0;
        #pragma omp parallel for
        for (int j = 0; j < 32; j++)
            tile[j] = i * j;
        for (int j = 0; j < 32; j++)
            sum += tile[j];
        #pragma omp parallel for
        for (int j = 0; j < 32; j++)
            b[i][j] = tile[31 - j] + sum;
        teams[i] = sum;
    }
    long check[3] = {0};
    for (int i = 0; i < 512; i++) {
        check[0] += a[i] * (long)i;
        check[1] += b[i / 32][i % 32] * (long)i;
        check[2] += teams[i % 16];
    }
    printf("%ld %ld %ld\n", check[0], check[1], check[2]);
    return 0;
}
