/* The numbers of teams and threads that the environment sets.
   env: OMP_NUM_TEAMS_ALL=3
   env: OMP_TEAMS_THREAD_LIMIT_ALL=4
   since: 14 */
#include "check.h"
#pragma omp requires reverse_offload

int main(void)
{
    int initial = -1, teams = -1, limit = -1, threads = -1, most = -1;
#pragma omp target teams map(tofrom : initial, teams, limit, threads, most)
#pragma omp parallel
    if (omp_get_team_num() == 0 && omp_get_thread_num() == 0) {
        initial = omp_is_initial_device();
        teams = omp_get_num_teams();
        most = omp_get_max_teams();
        limit = omp_get_teams_thread_limit();
        threads = omp_get_num_threads();
    }
    EXPECT_ON_DEVICE(initial);
    /* The host has one team unless a clause requests more. */
    EXPECT(teams, on_device() ? 3 : 1);
    EXPECT(most, 3);
    EXPECT(limit, 4);
    /* GCC 14 does not apply that limit to the number of threads. */
    EXPECT(threads >= 1, 1);
    return finish();
}
