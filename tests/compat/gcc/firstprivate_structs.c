/* Structures and arrays that are passed by value. */
#include <stdint.h>
#include <string.h>
#include "check.h"
#pragma omp requires reverse_offload

struct four {
    int x[4];
};

struct doubles {
    double x[8];
};

struct bytes {
    char x[13];
};

struct mixed {
    char c;
    short s;
    int i;
    long l;
    float f;
    double d;
};

static int calls;

static void called(void)
{
    calls++;
}

static void look_at_four(struct four v)
{
    for (int i = 0; i < 4; i++)
        EXPECT(v.x[i], 11 * (i + 1));
    called();
}

int main(void)
{
    int initial = -1, unchanged = 0;
#pragma omp target map(from : initial, unchanged)
    {
        initial = omp_is_initial_device();
        struct four four = {{11, 22, 33, 44}};
        struct doubles doubles;
        struct bytes bytes;
        struct mixed mixed = {'m', -2, 3, -4, 5.5f, 6.25};
        int array[7];
        for (int i = 0; i < 8; i++)
            doubles.x[i] = i + 0.5;
        for (int i = 0; i < 13; i++)
            bytes.x[i] = 'a' + i;
        for (int i = 0; i < 7; i++)
            array[i] = 70 + i;
        /* 16 bytes, alone. */
#pragma omp target device(ancestor : 1) firstprivate(four)
        {
            look_at_four(four);
            four.x[0] = 0;
        }
        /* 64 bytes. */
#pragma omp target device(ancestor : 1) firstprivate(doubles)
        {
            for (int i = 0; i < 8; i++)
                EXPECT_REAL(doubles.x[i], i + 0.5);
            EXPECT((uintptr_t)&doubles % _Alignof(double), 0);
            called();
        }
        /* Several of different alignments, none of which is a multiple of the next. */
        int count = 13;
        double real = 0.75;
#pragma omp target device(ancestor : 1) firstprivate(bytes, mixed, array, count, four, real)
        {
            for (int i = 0; i < count; i++)
                EXPECT(bytes.x[i], 'a' + i);
            EXPECT(mixed.c, 'm');
            EXPECT(mixed.s, -2);
            EXPECT(mixed.i, 3);
            EXPECT(mixed.l, -4);
            EXPECT_REAL(mixed.f, 5.5);
            EXPECT_REAL(mixed.d, 6.25);
            EXPECT((uintptr_t)&mixed % _Alignof(struct mixed), 0);
            for (int i = 0; i < 7; i++)
                EXPECT(array[i], 70 + i);
            EXPECT_REAL(real, 0.75);
            look_at_four(four);
            memset(&mixed, 0, sizeof mixed);
            memset(array, 0, sizeof array);
        }
        unchanged = four.x[0] == 11 && mixed.l == -4 && array[3] == 73;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(unchanged, 1);
    EXPECT(calls, 3);
    return finish();
}
