/* Array sections, of arrays of the device and of arrays that the program has mapped. */
#include "check.h"
#pragma omp requires reverse_offload

enum { N = 40 };

static void look(const int *v, int from, int count, int base)
{
    for (int i = from; i < from + count; i++)
        EXPECT(v[i], base + i);
}

static void add(int *v, int from, int count, int what)
{
    for (int i = from; i < from + count; i++)
        v[i] += what;
}

int main(void)
{
    int initial = -1;
    int mine_after[N], table_after[4][6];
    int *shared = malloc(N * sizeof *shared);
    for (int i = 0; i < N; i++)
        shared[i] = 100 + i;
#pragma omp target map(from : initial, mine_after, table_after) map(tofrom : shared[:N])
    {
        initial = omp_is_initial_device();
        int mine[N], table[4][6];
        for (int i = 0; i < N; i++) {
            mine[i] = 1000 + i;
            shared[i] += 2000;
        }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 6; j++)
                table[i][j] = 10 * i + j;
        /* An array of the device: only the section is copied. */
#pragma omp target device(ancestor : 1) map(tofrom : mine[5 : 7])
        {
            look(mine, 5, 7, 1000);
            add(mine, 5, 7, 50000);
        }
        /* Two sections of one array, in two calls. */
#pragma omp target device(ancestor : 1) map(to : mine[20 : 3])
        look(mine, 20, 3, 1000);
#pragma omp target device(ancestor : 1) map(from : mine[30 : 10])
        for (int i = 30; i < 40; i++)
            mine[i] = 70000 + i;
        /* A section through a pointer, which does not begin at 0. */
        int *p = mine + 12;
#pragma omp target device(ancestor : 1) map(tofrom : p[2 : 4])
        {
            look(p, 2, 4, 1012);
            add(p, 2, 4, 60000);
        }
        /* Rows of a table. */
#pragma omp target device(ancestor : 1) map(tofrom : table[1 : 2])
        for (int i = 1; i < 3; i++)
            for (int j = 0; j < 6; j++) {
                EXPECT(table[i][j], 10 * i + j);
                table[i][j] = -table[i][j];
            }
        /* A mapped array: "always" copies only the section. */
#pragma omp target device(ancestor : 1) map(always, tofrom : shared[10 : 5])
        {
            look(shared, 10, 5, 2100);
            if (on_device()) {
                EXPECT(shared[9], 109);
                EXPECT(shared[15], 115);
            }
            add(shared, 10, 5, 30000);
        }
        for (int i = 0; i < N; i++)
            mine_after[i] = mine[i];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 6; j++)
                table_after[i][j] = table[i][j];
    }
    EXPECT_ON_DEVICE(initial);
    for (int i = 0; i < N; i++) {
        int wanted = 1000 + i;
        if (i >= 5 && i < 12)
            wanted = 51000 + i;
        if (i >= 14 && i < 18)
            wanted = 61000 + i;
        if (i >= 30)
            wanted = 70000 + i;
        EXPECT(mine_after[i], wanted);
        EXPECT(shared[i], 2100 + i + (i >= 10 && i < 15 ? 30000 : 0));
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++)
            EXPECT(table_after[i][j], (i == 1 || i == 2 ? -1 : 1) * (10 * i + j));
    free(shared);
    return finish();
}
