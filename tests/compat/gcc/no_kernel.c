/* A program that requires reverse offload but calls host regions only from the host. */
#include "check.h"
#pragma omp requires reverse_offload

static int calls;

static void called(int what)
{
    calls += what;
}

int main(void)
{
    int v = 3;
#pragma omp target device(ancestor : 1) map(tofrom : v)
    {
        called(v);
        v++;
    }
    EXPECT(v, 4);
    EXPECT(calls, 3);
    return finish();
}
