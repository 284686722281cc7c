/* Every thread of every team calls the host several times and gets its own answers. */
#include "check.h"
#pragma omp requires reverse_offload

enum { TEAMS = 4, THREADS = 4, ROUNDS = 3 };

static int seen[TEAMS][THREADS][ROUNDS];

static int answer(int team, int thread, int round)
{
    __atomic_add_fetch(&seen[team][thread][round], 1, __ATOMIC_RELAXED);
    return 1000 * team + 10 * thread + round;
}

int main(void)
{
    int initial[TEAMS], wrong[TEAMS][THREADS], teams = 0, threads[TEAMS];
    for (int i = 0; i < TEAMS; i++) {
        initial[i] = -1;
        for (int j = 0; j < THREADS; j++)
            wrong[i][j] = -1;
    }
#pragma omp target teams num_teams(TEAMS) thread_limit(THREADS)                                    \
    map(tofrom : initial, wrong, teams, threads)
    {
        int team = omp_get_team_num();
        if (team == 0)
            teams = omp_get_num_teams();
#pragma omp parallel num_threads(THREADS)
        {
            int thread = omp_get_thread_num();
            int bad = 0;
            if (thread == 0) {
                initial[team] = omp_is_initial_device();
                threads[team] = omp_get_num_threads();
            }
            for (int round = 0; round < ROUNDS; round++) {
                int got = -1;
#pragma omp target device(ancestor : 1) map(from : got) firstprivate(team, thread, round)
                got = answer(team, thread, round);
                bad += got != 1000 * team + 10 * thread + round;
            }
            wrong[team][thread] = bad;
        }
    }
    EXPECT(teams, TEAMS);
    for (int i = 0; i < TEAMS; i++) {
        EXPECT_ON_DEVICE(initial[i]);
        EXPECT(threads[i], THREADS);
        for (int j = 0; j < THREADS; j++) {
            EXPECT(wrong[i][j], 0);
            for (int k = 0; k < ROUNDS; k++)
                EXPECT(seen[i][j][k], 1);
        }
    }
    return finish();
}
