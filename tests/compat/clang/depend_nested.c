/* Dependences hold among siblings: dependences that a task and its child share order neither,
   in nested teams and in consecutive regions.
   report: free */
#include "check.h"
#include "parts/one_thread.h"

static void parent_and_child(void)
{
    int x = 0, done = 0;
#pragma omp target data map(tofrom : x)
    {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
            TARGET(nowait depend(inout : x) map(tofrom : x))
            x += 1;
#pragma omp task depend(inout : x) shared(x, done)
            {
                /* If it waited for its parent, the parent would wait for itself. */
                TARGET(nowait depend(inout : x) map(tofrom : x))
                x += 1;
                TARGET(nowait depend(inout : x) map(tofrom : x))
                x *= 3;
#pragma omp task depend(inout : x) shared(x, done)
                done++;
#pragma omp taskwait
            }
            TARGET(nowait depend(inout : x) map(tofrom : x))
            x += 1;
        }
    }
    EXPECT(x, 7);
    EXPECT(done, 1);
}

static void teams(void)
{
    enum { OUTER = 3, INNER = 2, STEPS = 5 };
    int x[OUTER][INNER] = {{0}};
    omp_set_max_active_levels(2);
#pragma omp target data map(tofrom : x)
    {
#pragma omp parallel num_threads(OUTER)
        {
            int outer = omp_get_thread_num();
#pragma omp parallel num_threads(INNER)
            {
                int inner = omp_get_thread_num();
                for (int i = 0; i < STEPS; i++) {
                    TARGET(nowait depend(inout : x[outer][inner]) map(tofrom : x) firstprivate(outer, inner, i))
                    x[outer][inner] = x[outer][inner] * 2 + i;
                }
            }
        }
    }
    int expected = 0;
    for (int i = 0; i < STEPS; i++)
        expected = expected * 2 + i;
    for (int outer = 0; outer < OUTER; outer++)
        for (int inner = 0; inner < INNER; inner++)
            EXPECT(x[outer][inner], expected);
}

static void one_after_the_other(void)
{
    int x = 0;
#pragma omp target data map(tofrom : x)
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(2)
#pragma omp single
        for (int i = 0; i < 3; i++) {
            TARGET(nowait depend(inout : x) map(tofrom : x))
            x += 1;
        }
    }
    EXPECT(x, 60);
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        parent_and_child();
        teams();
        one_after_the_other();
    }
    return finish();
}
