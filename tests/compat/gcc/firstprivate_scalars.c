/* Values that are passed directly, of every size. Changes on the host do not reach the
   device. */
#include <stdbool.h>
#include "check.h"
#pragma omp requires reverse_offload

static int calls;

static void called(void)
{
    calls++;
}

int main(void)
{
    int initial = -1, unchanged = 0;
#pragma omp target map(from : initial, unchanged)
    {
        initial = omp_is_initial_device();
        signed char c = -3;
        unsigned short s = 65000;
        int i = -123456789;
        bool b = true;
        long l = -1234567890123456789;
        unsigned long long u = 0xfedcba9876543210u;
        float f = 1.25f;
        double d = -2.125;
        enum { RED = 1, BLUE = 77 } e = BLUE;
        int *p = (int *)0x123456789abc;
        /* As the only argument, which is the most frequent case. */
#pragma omp target device(ancestor : 1) firstprivate(i)
        {
            EXPECT(i, -123456789);
            i++;
            called();
        }
#pragma omp target device(ancestor : 1) firstprivate(d)
        {
            EXPECT_REAL(d, -2.125);
            d = 0;
            called();
        }
        /* Several together, some of them by default. */
#pragma omp target device(ancestor : 1) firstprivate(c, s, i, b, l, p)
        {
            EXPECT(c, -3);
            EXPECT(s, 65000);
            EXPECT(i, -123456789);
            EXPECT(b, true);
            EXPECT(l, -1234567890123456789);
            EXPECT(u, 0xfedcba9876543210u);
            EXPECT_REAL(f, 1.25);
            EXPECT_REAL(d, -2.125);
            EXPECT(e, BLUE);
            EXPECT((long)p, 0x123456789abc);
            c = 0;
            s = 0;
            l = 0;
            u = 0;
            f = 0;
            called();
        }
        unchanged = c == -3 && s == 65000 && i == -123456789 && l == -1234567890123456789
                    && u == 0xfedcba9876543210u && f == 1.25f && d == -2.125;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(unchanged, 1);
    EXPECT(calls, 3);
    return finish();
}
