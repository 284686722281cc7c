// Products of matrices: by threads, and with tiles that a team shares.
#include <stdio.h>

enum { N = 48, TILE = 16 };

static float a[N][N], b[N][N], c[N][N], d[N][N];

int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (float)((i * 7 + j) % 11) - 5;
            b[i][j] = (float)((i + j * 3) % 13) - 6;
        }
    #pragma omp target teams distribute parallel for collapse(2) map(to : a, b) map(from : c)
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
    #pragma omp target teams distribute collapse(2) thread_limit(64) map(to : a, b) map(from : d)
    for (int row = 0; row < N; row += TILE)
        for (int column = 0; column < N; column += TILE) {
            float left[TILE][TILE], right[TILE][TILE], sum[TILE][TILE] = {{0}};
            for (int k = 0; k < N; k += TILE) {
                #pragma omp parallel for collapse(2)
                for (int i = 0; i < TILE; i++)
                    for (int j = 0; j < TILE; j++) {
                        left[i][j] = a[row + i][k + j];
                        right[i][j] = b[k + i][column + j];
                    }
                #pragma omp parallel for collapse(2)
                for (int i = 0; i < TILE; i++)
                    for (int j = 0; j < TILE; j++)
                        for (int l = 0; l < TILE; l++)
                            sum[i][j] += left[i][l] * right[l][j];
            }
            for (int i = 0; i < TILE; i++)
                for (int j = 0; j < TILE; j++)
                    d[row + i][column + j] = sum[i][j];
        }
    double check = 0;
    int differ = 0;
    for (int i = 0; i < N * N; i++) {
        check += c[i / N][i % N] * (i % 97);
        differ += c[i / N][i % N] != d[i / N][i % N];
    }
    printf("%g %d\n", check, differ);
    return 0;
}
