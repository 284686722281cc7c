/* Sections without elements, and null pointers. */
#include "check.h"
#pragma omp requires reverse_offload

static int calls;

static void called(void)
{
    calls++;
}

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
        int v[3] = {1, 2, 3}, n = 0;
        int *p = v, *nothing = NULL;
#pragma omp target device(ancestor : 1) map(tofrom : p[:n])
        called();
#pragma omp target device(ancestor : 1) map(to : nothing[:0])
        {
            EXPECT(nothing == NULL, 1);
            called();
        }
        (void)p;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(calls, 2);
    return finish();
}
