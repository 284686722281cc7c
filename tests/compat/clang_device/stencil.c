// Jacobi's method on data that stays on the device, until the changes are small.
#include <math.h>
#include <stdio.h>

enum { N = 20 };

int main(void) {
    static double grid[2][N][N];
    for (int i = 0; i < N; i++)
        grid[0][0][i] = grid[1][0][i] = 1;
    int steps = 0;
    double change = 1;
    #pragma omp target data map(tofrom : grid)
    while (change > 1e-2 && steps < 100) {
        int from = steps % 2;
        change = 0;
        #pragma omp target teams distribute parallel for collapse(2) reduction(max : change)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                grid[!from][i][j] = .25 * (grid[from][i - 1][j] + grid[from][i + 1][j] +
                                           (grid[from][i][j - 1] + grid[from][i][j + 1]));
                change = fmax(change, fabs(grid[!from][i][j] - grid[from][i][j]));
            }
        steps++;
    }
    printf("%d %.12f %.12f %.12f\n", steps, change, grid[steps % 2][2][9], grid[steps % 2][9][9]);
    return 0;
}
