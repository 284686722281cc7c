// Recursive functions, in each thread.
#include <stdio.h>

#pragma omp begin declare target
static int ackermann(int m, int n) {
    return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
static int queens(int n, unsigned columns, unsigned left, unsigned right) {
    unsigned full = (1u << n) - 1;
    if (columns == full)
        return 1;
    int count = 0;
    for (unsigned free = full & ~(columns | left | right); free; free &= free - 1) {
        unsigned bit = free & -free;
        count += queens(n, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return count;
}
static void hanoi(int n, int from, int to, int *moves) {
    if (n == 0)
        return;
    hanoi(n - 1, from, 6 - from - to, moves);
    *moves = (*moves * 3 + from * 2 + to) % 10007;
    hanoi(n - 1, 6 - from - to, to, moves);
}
#pragma omp end declare target

int main(void) {
    int solutions[8], numbers[3], moves = 0;
    #pragma omp target parallel for map(from : solutions)
    for (int n = 0; n < 8; n++)
        solutions[n] = n ? queens(n, 0, 0, 0) : 0;
    #pragma omp target map(from : numbers) map(tofrom : moves)
    {
        for (int m = 0; m < 3; m++)
            numbers[m] = ackermann(m, 4);
        hanoi(6, 1, 3, &moves);
    }
    for (int n = 0; n < 8; n++)
        printf("%d ", solutions[n]);
    printf("%d %d %d %d\n", numbers[0], numbers[1], numbers[2], moves);
    return 0;
}
