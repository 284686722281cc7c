/* A target region that runs on the host because of an "if" clause calls host regions there. */
#include "check.h"
#pragma omp requires reverse_offload

static int calls;

static void called(int what)
{
    calls += what;
}

int main(int argc, char **argv)
{
    (void)argv;
    for (int on = 0; on < 2; on++) {
        int initial = -1, after = -1;
#pragma omp target if (on && argc) map(from : initial, after)
        {
            initial = omp_is_initial_device();
            int v = 3;
#pragma omp target device(ancestor : 1) map(tofrom : v)
            {
                called(v);
                v++;
            }
            after = v;
        }
        EXPECT(after, 4);
        if (on)
            EXPECT_ON_DEVICE(initial);
        else
            EXPECT(initial, 1);
    }
    EXPECT(calls, 6);
    return finish();
}
