/* Values whose types require more alignment than fundamental types. The host's copies have that
   alignment, so that vector instructions do not fault. */
#include <stdint.h>
#include "check.h"
#pragma omp requires reverse_offload

struct __attribute__((aligned(32))) wide {
    double x[4];
};

struct __attribute__((aligned(64))) line {
    int x[3];
};

typedef float four_floats __attribute__((vector_size(16)));

static int calls;

static void called(void)
{
    calls++;
}

/* Not inlined, so that its loads are from the address of the value. */
static __attribute__((noinline)) four_floats twice(const four_floats *v)
{
    return *v + *v;
}

static __attribute__((noinline)) int offset(const void *at, unsigned alignment)
{
    __asm__("" : "+r"(at));
    return (int)((uintptr_t)at % alignment);
}

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
        char odd = 'o';
        struct wide wide = {{1.5, 2.5, 3.5, 4.5}};
        struct line line = {{7, 8, 9}};
        four_floats floats = {1, 2, 3, 4};
        __int128 large = ((__int128)1234567890123 << 64) | 42;
        char bytes[3] = {'x', 'y', 'z'};
#pragma omp target device(ancestor : 1) firstprivate(wide)
        {
            EXPECT(offset(&wide, 32), 0);
            for (int i = 0; i < 4; i++)
                EXPECT_REAL(wide.x[i], i + 1.5);
            called();
        }
#pragma omp target device(ancestor : 1) firstprivate(bytes, line, odd, floats, wide, large)
        {
            EXPECT(offset(&wide, 32), 0);
            EXPECT(offset(&line, 64), 0);
            EXPECT(offset(&floats, 16), 0);
            EXPECT(offset(&large, 16), 0);
            EXPECT(bytes[2], 'z');
            EXPECT(odd, 'o');
            EXPECT(line.x[2], 9);
            EXPECT_REAL(wide.x[3], 4.5);
            EXPECT_REAL(twice(&floats)[3], 8);
            EXPECT(large >> 64, 1234567890123);
            EXPECT((long)large, 42);
            called();
        }
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(calls, 2);
    return finish();
}
