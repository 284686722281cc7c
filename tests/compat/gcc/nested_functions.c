/* Nested functions of GNU C in target regions, not inlined: they access the variables of the
   enclosing functions by a static chain, which GCC passes in a register.
   compare: host */
#include "check.h"

#define NOINLINE __attribute__((noinline, noclone))

#pragma omp declare target
/* One level, with scalars and an array of the enclosing function. */
static NOINLINE long one_level(int n)
{
    long sum = 0;
    int squares[16];
    NOINLINE void add(int i)
    {
        squares[i & 15] = i * i;
        sum += squares[i & 15] - n;
    }
    for (int i = 0; i < n; i++)
        add(i);
    return sum;
}

/* Three levels; the innermost changes variables of each. */
static NOINLINE long three_levels(int n)
{
    long a = 1;
    NOINLINE long middle(int m)
    {
        long b = m;
        NOINLINE long inner(int k)
        {
            a = (a * 31 + k) % 1000003;
            b += a + n;
            return a ^ b;
        }
        long x = 0;
        for (int k = 0; k < m; k++)
            x += inner(k);
        return x + b;
    }
    long sum = 0;
    for (int m = 0; m < n; m++)
        sum += middle(m);
    return sum + a;
}

/* Recursion: each activation has its own variables, all have the outermost's. */
static NOINLINE long recursive(int n)
{
    long calls = 0;
    NOINLINE long hanoi(int disks, int from, int to)
    {
        calls++;
        if (disks == 0)
            return 0;
        int by = 6 - from - to;
        NOINLINE long move(void)
        {
            return from * 10 + to + by;
        }
        return hanoi(disks - 1, from, by) * 3 % 99991 + move() + hanoi(disks - 1, by, to);
    }
    long moves = hanoi(n, 1, 3);
    return moves * 100000 + calls;
}

struct point {
    double x, y;
    short tag;
};

/* Parameters and results of several types in addition to the chain. */
static NOINLINE double mixed(int n)
{
    struct point at = {0.5, 0.25, 3};
    NOINLINE struct point step(struct point by, float f, char c, long long l)
    {
        struct point to = {at.x + by.x * f, at.y + by.y * c, (short)(at.tag + l)};
        return to;
    }
    for (int i = 0; i < n; i++)
        at = step((struct point){1, 2, 3}, 0.5f, (char)(i & 3), i);
    return at.x * 1000 + at.y + at.tag;
}

/* A function that is passed to a sibling, which calls it while the chain is available. */
static NOINLINE int siblings(int n)
{
    int state = n;
    auto int is_odd(int k);
    NOINLINE int is_even(int k)
    {
        state = (state * 7 + k) & 0xffff;
        return k == 0 ? state : is_odd(k - 1);
    }
    NOINLINE int is_odd(int k)
    {
        state = (state * 5 + k) & 0xffff;
        return k == 0 ? -state : is_even(k - 1);
    }
    return is_even(n);
}
#pragma omp end declare target

int main(void)
{
    enum { N = 12 };
    int initial = -1;
    long one[N], three[N], tree[N];
    double real[N];
    int even[N];
#pragma omp target map(from : initial, one, three, tree, real, even)
    {
        initial = omp_is_initial_device();
        for (int i = 0; i < N; i++) {
            one[i] = one_level(i);
            three[i] = three_levels(i);
            tree[i] = recursive(i % 7);
            real[i] = mixed(i);
            even[i] = siblings(i);
        }
    }
    EXPECT_ON_DEVICE(initial);
    for (int i = 0; i < N; i++)
        printf("%ld %ld %ld %.17g %d\n", one[i], three[i], tree[i], real[i], even[i]);

    /* Each thread of each team has chains of its own. */
    enum { MANY = 96 };
    long many[MANY];
#pragma omp target teams distribute parallel for num_teams(3) thread_limit(8) map(from : many)
    for (int i = 0; i < MANY; i++)
        many[i] = three_levels(i % 9) * 1000 + recursive(i % 5) + one_level(i);
    for (int i = 0; i < MANY; i++)
        EXPECT(many[i], three_levels(i % 9) * 1000 + recursive(i % 5) + one_level(i));

    /* A nested function of the function with the region, defined in the region's own body. */
    int total = 0;
#pragma omp target map(tofrom : total)
    {
        int base = 7;
        NOINLINE int scaled(int i)
        {
            base += i;
            return base * i;
        }
        for (int i = 0; i < N; i++)
            total += scaled(i);
    }
    printf("%d\n", total);

    /* In the lanes of a simd loop: each lane has a chain of its own. */
    int lanes[MANY];
#pragma omp target parallel for simd map(from : lanes)
    for (int i = 0; i < MANY; i++)
        lanes[i] = siblings(i % 11) + (int)one_level(i % 13);
    for (int i = 0; i < MANY; i++)
        EXPECT(lanes[i], siblings(i % 11) + (int)one_level(i % 13));
    return finish();
}
