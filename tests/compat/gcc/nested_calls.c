/* Functions of the device that call the host at any depth, and functions that exist only on the
   host. */
#include "check.h"
#pragma omp requires reverse_offload

static int calls[10];

/* These exist only on the host. */
static int (*operation)(int, int);

static int sum(int a, int b)
{
    return a + b;
}

static int depth_of(int n)
{
    return n == 0 ? 0 : 1 + depth_of(n - 1);
}

static void host_function(int depth, int a, int b, int *result)
{
    calls[depth]++;
    operation = sum;
    *result = operation(a, b) + depth_of(depth);
}

#pragma omp declare target
static int ask(int depth, int a, int b)
{
    int result = -1;
#pragma omp target device(ancestor : 1) map(from : result) firstprivate(depth, a, b)
    host_function(depth, a, b, &result);
    return result;
}

static int descend(int depth)
{
    int below = depth < 9 ? descend(depth + 1) : 0;
    return below + ask(depth, 10 * depth, 7);
}
#pragma omp end declare target

int main(void)
{
    int initial = -1, got = 0, wanted = 0;
#pragma omp target map(from : initial, got)
    {
        initial = omp_is_initial_device();
        got = descend(0);
    }
    EXPECT_ON_DEVICE(initial);
    for (int i = 0; i < 10; i++) {
        wanted += 10 * i + 7 + i;
        EXPECT(calls[i], 1);
    }
    EXPECT(got, wanted);
    return finish();
}
