/* Calls through function pointers on the device, together with host regions.
   since: 14 */
#include "check.h"
#pragma omp requires reverse_offload

/* Not static, because GCC 14 omits static functions. */
int twice(int v);
int thrice(int v);

#pragma omp begin declare target indirect
int twice(int v)
{
    return 2 * v;
}

int thrice(int v)
{
    return 3 * v;
}
#pragma omp end declare target

static int calls;

static void called(void)
{
    calls++;
}

int main(void)
{
    int initial = -1, got[2] = {0, 0};
    int (*functions[2])(int) = {thrice, twice};
#pragma omp target map(from : initial) map(tofrom : got) map(to : functions)
    {
        initial = omp_is_initial_device();
        for (int i = 0; i < 2; i++) {
            got[i] = functions[i](10 + i);
#pragma omp target device(ancestor : 1)
            called();
        }
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(got[0], 30);
    EXPECT(got[1], 22);
    EXPECT(calls, 2);
    return finish();
}
