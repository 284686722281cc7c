/* Data that stays on the device during several kernels, and is updated between them. */
#include "check.h"
#pragma omp requires reverse_offload

enum { N = 30 };

static void add(int *v, int what)
{
    for (int i = 0; i < N; i++)
        v[i] += what;
}

int main(void)
{
    int initial = -1, device = omp_get_default_device();
    int a[N], *b = malloc(N * sizeof *b);
    for (int i = 0; i < N; i++) {
        a[i] = i;
        b[i] = 2 * i;
    }
#pragma omp target data map(tofrom : a)
    {
#pragma omp target enter data map(to : b[:N])
        EXPECT(omp_target_is_present(b, device), 1);
        add(a, 1000);
#pragma omp target map(from : initial)
        {
            initial = omp_is_initial_device();
            for (int i = 0; i < N; i++) {
                a[i] += 1;
                b[i] += 1;
            }
        }
        EXPECT_ON_DEVICE(initial);
        if (on_device()) {
            EXPECT(a[3], 1003);
            EXPECT(b[3], 6);
        }
#pragma omp target update from(b[5 : 5])
        for (int i = 0; i < N; i++)
            EXPECT(b[i], 2 * i + (!on_device() || (i >= 5 && i < 10) ? 1 : 0));
        b[7] = 700;
#pragma omp target update to(b[7 : 1])
        /* The host regions use the host's arrays, and "always" copies the device's. */
#pragma omp target
        {
#pragma omp target device(ancestor : 1) map(always, tofrom : b[8 : 1])
            b[8] += 800;
            b[9] += b[7] + b[8];
        }
#pragma omp target exit data map(from : b[:N])
        if (on_device())
            EXPECT(omp_target_is_present(b, device), 0);
        EXPECT(b[7], 700);
        EXPECT(b[8], 817);
        EXPECT(b[9], 19 + 700 + 817);
        EXPECT(b[10], 21);
#pragma omp target data use_device_addr(a)
        {
            int *p = a;
#pragma omp target is_device_ptr(p)
            p[0] = 55;
        }
    }
    for (int i = 1; i < N; i++)
        EXPECT(a[i], i + 1 + (on_device() ? 0 : 1000));
    EXPECT(a[0], 55);

    /* Rows of a table. */
    int table[6][6];
    for (int i = 0; i < 36; i++)
        table[i / 6][i % 6] = i;
#pragma omp target enter data map(to : table)
#pragma omp target
    for (int i = 0; i < 36; i++)
        table[i / 6][i % 6] = -i;
#pragma omp target update from(table[1 : 2])
    for (int i = 0; i < 36; i++) {
        int inside = !on_device() || (i >= 6 && i < 18);
        EXPECT(table[i / 6][i % 6], inside ? -i : i);
    }
#pragma omp target exit data map(delete : table)
    free(b);
    return finish();
}
