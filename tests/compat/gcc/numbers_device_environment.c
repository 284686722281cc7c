/* The numbers that the environment sets for devices, different from those for the host.
   env: OMP_NUM_TEAMS=7
   env: OMP_NUM_TEAMS_DEV=2
   env: OMP_TEAMS_THREAD_LIMIT_DEV_0=3
   env: OMP_DEFAULT_DEVICE_ALL=0
   since: 14 */
#include "check.h"
#pragma omp requires reverse_offload

int main(void)
{
    int initial = -1, teams = -1, limit = -1, on = -1;
#pragma omp target teams map(tofrom : initial, teams, limit, on)
#pragma omp parallel num_threads(1)
    if (omp_get_team_num() == 0) {
        initial = omp_is_initial_device();
        teams = omp_get_num_teams();
        limit = omp_get_teams_thread_limit();
        on = omp_get_default_device();
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(teams, on_device() ? 2 : 1);
    if (on_device())
        EXPECT(limit, 3);
    EXPECT(on, 0);
    return finish();
}
