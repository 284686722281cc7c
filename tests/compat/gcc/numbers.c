/* The numbers of teams and threads that clauses set. */
#include "check.h"
#pragma omp requires reverse_offload

static int calls;

static void look(int teams, int threads)
{
    EXPECT(teams, 3);
    EXPECT(threads, 5);
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

int main(void)
{
    int initial = -1, device = -1, teams = -1, limit = -1, threads = -1, level = -1;
    int highest_team = -1, highest_thread = -1, entered = 0;

    /* A serial region has one of each. Not tested after a region of several teams, because GCC
       14 keeps that number. */
#pragma omp target map(from : teams, threads)
    {
        teams = omp_get_num_teams();
        threads = omp_get_num_threads();
    }
    EXPECT(teams, 1);
    EXPECT(threads, 1);

#pragma omp target teams num_teams(3) thread_limit(5)                                              \
    map(tofrom : initial, device, teams, limit, threads, level)                                    \
    map(tofrom : highest_team, highest_thread, entered)
#pragma omp parallel num_threads(5)
    {
        int thread = omp_get_thread_num(), team = omp_get_team_num();
#pragma omp atomic
        entered++;
#pragma omp atomic compare
        highest_team = highest_team < team ? team : highest_team;
#pragma omp atomic compare
        highest_thread = highest_thread < thread ? thread : highest_thread;
        if (team == 1 && thread == 2) {
            initial = omp_is_initial_device();
            device = omp_get_device_num();
            teams = omp_get_num_teams();
            limit = omp_get_thread_limit();
            threads = omp_get_num_threads();
            level = omp_get_level();
        }
        int t = omp_get_num_teams(), n = omp_get_num_threads();
#pragma omp target device(ancestor : 1) firstprivate(t, n)
        look(t, n);
    }
    EXPECT_ON_DEVICE(initial);
    if (on_device())
        EXPECT(device, omp_get_default_device());
    EXPECT(teams, 3);
    EXPECT(limit, 5);
    EXPECT(threads, 5);
    EXPECT(level, 1);
    EXPECT(highest_team, 2);
    EXPECT(highest_thread, 4);
    EXPECT(entered, 15);
    EXPECT(calls, 15);

    /* Fewer threads than the maximum, in the same kernel. */
    int first = -1, second = -1;
#pragma omp target thread_limit(8) map(tofrom : first, second)
    {
#pragma omp parallel num_threads(2)
#pragma omp single
        first = omp_get_num_threads();
#pragma omp parallel num_threads(7)
#pragma omp single
        second = omp_get_num_threads();
    }
    EXPECT(first, 2);
    EXPECT(second, 7);
    return finish();
}
