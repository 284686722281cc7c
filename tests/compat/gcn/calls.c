/* Calls of the host from a region: with maps that copy in both directions, with values, and
   without arguments. */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

enum { KINDS = 2, ROUNDS = 3 };

struct data {
    int initial;
    int sums[KINDS][ROUNDS];
};

static int empty, handed[KINDS * ROUNDS];

static void without(void)
{
    __atomic_add_fetch(&empty, 1, __ATOMIC_RELAXED);
}

static void with(int *values, int kind, int round)
{
    EXPECT(omp_is_initial_device(), 1);
    handed[kind * ROUNDS + round]++;
    for (int i = 0; i < 4; i++)
        values[i] += 100 * kind + round;
}

int main(void)
{
    struct data data = {-1, {{0}}};
#pragma omp target map(tofrom : data)
    {
        data.initial = omp_is_initial_device();
        for (int kind = 0; kind < KINDS; kind++)
            for (int round = 0; round < ROUNDS; round++) {
                int values[4] = {0, 1, 2, 3};
#pragma omp target device(ancestor : 1) map(tofrom : values) firstprivate(kind, round)
                with(values, kind, round);
#pragma omp target device(ancestor : 1)
                without();
                data.sums[kind][round] = values[0] + values[1] + values[2] + values[3];
            }
    }
    EXPECT_ON_DEVICE(data.initial);
    EXPECT(empty, KINDS * ROUNDS);
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < ROUNDS; round++) {
            EXPECT(handed[kind * ROUNDS + round], 1);
            EXPECT(data.sums[kind][round], 6 + 4 * (100 * kind + round));
        }
    return finish();
}
