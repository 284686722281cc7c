/* A simple region: data in both directions, a variable of the image, teams and threads. The
   kernel checks that the memory of each thread, each team and the launch does not overlap. */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

enum { TEAMS = 3, THREADS = 4 };

struct data {
    int initial;
    int factor;
    int values[8];
    int reached[TEAMS][THREADS];
    int begun;
    int overwritten;
};

int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
#pragma omp declare target to(table)

int main(void)
{
    struct data data = {-1, 10, {0}, {{0}}, 0, 0};
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
    data.reached[omp_get_team_num()][omp_get_thread_num()]++;
    for (int team = 0; team < TEAMS; team++)
        for (int thread = 0; thread < THREADS; thread++)
            EXPECT(data.reached[team][thread], 1);
    EXPECT(data.overwritten, 0);
    return finish();
}
