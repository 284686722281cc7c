/* Recursion in target regions: deep, wide, mutual, through pointers, in every thread and lane.
   compare: host */
#include "check.h"

#define NOINLINE __attribute__((noinline, noclone))

#pragma omp declare target
static NOINLINE int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static NOINLINE int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static NOINLINE int male(int n);
static NOINLINE int female(int n)
{
    return n == 0 ? 1 : n - male(female(n - 1));
}
static NOINLINE int male(int n)
{
    return n == 0 ? 0 : n - female(male(n - 1));
}

/* Frames with arrays, whose addresses are passed down. */
static NOINLINE long frames(int n, const int *above)
{
    int own[4] = {above[0] + 1, above[1] * 3 % 101, n, above[3] ^ n};
    long below = n ? frames(n - 1, own) : 0;
    return below + own[0] * own[1] - own[2] + own[3];
}

static NOINLINE void sort(int *at, int n)
{
    if (n < 2)
        return;
    int pivot = at[n / 2], i = 0, j = n - 1;
    for (;;) {
        while (at[i] < pivot)
            i++;
        while (at[j] > pivot)
            j--;
        if (i >= j)
            break;
        int t = at[i];
        at[i++] = at[j];
        at[j--] = t;
    }
    sort(at, i);
    sort(at + i, n - i);
}

static NOINLINE int permute(int *at, int k, int n)
{
    if (k == n)
        return at[0] < at[n - 1];
    int count = 0;
    for (int i = k; i < n; i++) {
        int t = at[k];
        at[k] = at[i];
        at[i] = t;
        count += permute(at, k + 1, n);
        t = at[k];
        at[k] = at[i];
        at[i] = t;
    }
    return count;
}

static NOINLINE int queens(int n, unsigned columns, unsigned left, unsigned right)
{
    unsigned all = (1u << n) - 1, count = 0;
    if (columns == all)
        return 1;
    for (unsigned open = all & ~(columns | left | right); open; open &= open - 1) {
        unsigned bit = open & -open;
        count += queens(n, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return (int)count;
}

typedef double (*function)(double, int, const void *);
static NOINLINE double halve(double x, int n, const void *next)
{
    function f = *(const function *)next;
    return n == 0 ? x : f(x / 2 + n, n - 1, next);
}
static NOINLINE double by_pointer(int n)
{
    function f = halve;
    return f(1000, n, &f);
}

#pragma omp end declare target

enum { N = 40 };

int main(void)
{
    int initial = -1, numbers[N], fibs[20], acks[9], males[20], orders, boards[8];
    long depths[6];
    double halves[12];
    for (int i = 0; i < N; i++)
        numbers[i] = i * 7919 % 101;
#pragma omp target map(tofrom : numbers) map(from : initial, fibs, acks, males) \
    map(from : orders, boards, depths, halves)
    {
        int above[4] = {1, 2, 3, 4}, five[5] = {5, 3, 1, 4, 2};
        initial = omp_is_initial_device();
        for (int i = 0; i < 15; i++)
            fibs[i] = fib(i);
        for (int i = 0; i < 9; i++)
            acks[i] = ackermann(i / 3, i % 3 + 1);
        for (int i = 0; i < 20; i++)
            males[i] = male(i);
        for (int i = 0; i < 6; i++)
            depths[i] = frames(i * 60, above);
        sort(numbers, N);
        orders = permute(five, 0, 5);
        for (int i = 1; i < 7; i++)
            boards[i] = queens(i, 0, 0, 0);
        for (int i = 0; i < 12; i++)
            halves[i] = by_pointer(i);
    }
    EXPECT_ON_DEVICE(initial);
    for (int i = 0; i < 15; i++)
        printf("%d ", fibs[i]);
    for (int i = 0; i < 9; i++)
        printf("%d ", acks[i]);
    for (int i = 0; i < 20; i++)
        printf("%d ", males[i]);
    for (int i = 0; i < 6; i++)
        printf("%ld ", depths[i]);
    for (int i = 0; i < N; i++)
        printf("%d ", numbers[i]);
    for (int i = 1; i < 7; i++)
        printf("%d ", boards[i]);
    for (int i = 0; i < 12; i++)
        printf("%.17g ", halves[i]);
    printf("%d\n", orders);

    int each[N], lanes[N];
#pragma omp target teams distribute parallel for num_teams(2) thread_limit(8) map(from : each)
    for (int i = 0; i < N; i++) {
        int mine[8];
        for (int k = 0; k < 8; k++)
            mine[k] = (i + k * 5) % 8;
        sort(mine, 8);
        each[i] = fib(i % 11) + mine[i % 8] + male(i % 12) + queens(i % 5 + 1, 0, 0, 0);
    }
#pragma omp target simd map(from : lanes)
    for (int i = 0; i < N; i++)
        lanes[i] = fib(i % 9) + ackermann(1, i % 6) + female(i % 10) + queens(i % 4 + 1, 0, 0, 0);
    for (int i = 0; i < N; i++)
        printf("%d %d\n", each[i], lanes[i]);
    return finish();
}
