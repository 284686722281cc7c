/* Each map type: data is copied to the device, copied back, or stays. */
#include "check.h"

enum { N = 16 };

static int sum(const int *v)
{
    int s = 0;
    for (int i = 0; i < N; i++)
        s += v[i];
    return s;
}

int main(void)
{
    int to[N], from[N], both[N], none[N], got = -1, initial = -1;
    for (int i = 0; i < N; i++) {
        to[i] = i;
        from[i] = -1;
        both[i] = 100 + i;
        none[i] = 7;
    }
#pragma omp target map(to : to) map(from : from) map(tofrom : both) map(alloc : none) map(from : got, initial)
    {
        initial = omp_is_initial_device();
        for (int i = 0; i < N; i++) {
            none[i] = to[i] * 2;
            from[i] = none[i] + 1;
            both[i] += none[i];
            to[i] = 555;
        }
        got = none[3];
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(sum(to), 120);
    EXPECT(sum(from), 256);
    EXPECT(sum(both), 1720 + 240);
    EXPECT(sum(none), 7 * N);
    EXPECT(got, 6);
    printf("%d %d %d\n", sum(to), sum(from), sum(both));
    return finish();
}
