// The longest common subsequence, along diagonals in one region.
#include <stdio.h>

enum { N = 64 };

int main(void) {
    static int best[N + 1][N + 1];
    char a[N], b[N];
    for (int i = 0; i < N; i++) {
        a[i] = 'a' + i * i % 7;
        b[i] = 'a' + i * 5 % 11 % 7;
    }
    #pragma omp target map(to : a, b) map(tofrom : best)
    #pragma omp parallel num_threads(64)
    for (int diagonal = 2; diagonal <= 2 * N; diagonal++) {
        int from = diagonal > N ? diagonal - N : 1, to = diagonal > N ? N : diagonal - 1;
        #pragma omp for
        for (int i = from; i <= to; i++) {
            int j = diagonal - i;
            int up = best[i - 1][j], left = best[i][j - 1];
            best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : up > left ? up : left;
        }
    }
    long sum = 0;
    for (int i = 0; i <= N; i++)
        for (int j = 0; j <= N; j++)
            sum += best[i][j] * (long)(i + j);
    printf("%d %ld\n", best[N][N], sum);
    return 0;
}
