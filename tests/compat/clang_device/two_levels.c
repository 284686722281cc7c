// Loops of teams with loops of threads that depend on them: triangles, prefixes and ragged rows.
#include <stdio.h>

enum { N = 40 };

int main(void) {
    int starts[N + 1] = {0}, sums[N];
    for (int i = 0; i < N; i++)
        starts[i + 1] = starts[i] + i * i % 9;
    int n = starts[N], values[400];
    for (int i = 0; i < n; i++)
        values[i] = i * 3 % 11;
    #pragma omp target teams distribute map(to : starts, values[0 : n]) map(from : sums)
    for (int row = 0; row < N; row++) {
        int sum = 0;
        #pragma omp parallel for reduction(+ : sum)
        for (int i = starts[row]; i < starts[row + 1]; i++)
            sum += values[i] * row;
        sums[row] = sum;
    }
    long triangle = 0, check = 0;
    #pragma omp target teams distribute reduction(+ : triangle)
    for (int i = 0; i < 30; i++) {
        long line = 0;
        #pragma omp parallel for reduction(+ : line) schedule(static, 2)
        for (int j = i; j < 30; j++)
            line += i * 100 + j;
        triangle += line;
    }
    for (int i = 0; i < N; i++)
        check = check * 7 % 1000003 + sums[i];
    printf("%d %ld %ld\n", n, check, triangle);
    return 0;
}
