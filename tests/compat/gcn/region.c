/* A simple region: data in both directions, a variable of the image, teams and threads. Each
   thread fills an array on its stack, and finds it unchanged when all threads of its team have
   done so. */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

enum { TEAMS = 3, THREADS = 4, LENGTH = 1000 };

struct data {
    int initial;
    int factor;
    int values[8];
    int reached[TEAMS][THREADS];
    int overwritten;
};

int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
#pragma omp declare target to(table)

int main(void)
{
    struct data data = {-1, 10, {0}, {{0}}, 0};
#pragma omp target map(tofrom : data)
    {
        data.initial = omp_is_initial_device();
        for (int i = 0; i < 8; i++)
            data.values[i] = data.factor * table[i];
        table[1] = 77;
    }
    EXPECT_ON_DEVICE(data.initial);
    for (int i = 0; i < 8; i++)
        EXPECT(data.values[i], 10 * (i + 1));
    if (on_device())
        EXPECT(table[1], 2);
#pragma omp target update from(table)
    EXPECT(table[1], 77);
#pragma omp target teams num_teams(TEAMS) thread_limit(THREADS) map(tofrom : data)
#pragma omp parallel num_threads(THREADS)
    {
        int team = omp_get_team_num(), thread = omp_get_thread_num();
        volatile int own[LENGTH];
        data.reached[team][thread]++;
        for (int i = 0; i < LENGTH; i++)
            own[i] = (team * THREADS + thread) * LENGTH + i;
#pragma omp barrier
        for (int i = 0; i < LENGTH; i++)
            if (own[i] != (team * THREADS + thread) * LENGTH + i) {
#pragma omp atomic
                data.overwritten++;
            }
    }
    for (int team = 0; team < TEAMS; team++)
        for (int thread = 0; thread < THREADS; thread++)
            EXPECT(data.reached[team][thread], 1);
    EXPECT(data.overwritten, 0);
    return finish();
}
