// The numbers of teams and threads in a region: each number occurs once, and the bounds hold.
#include <omp.h>
#include <stdio.h>

int main(void) {
    static int seen[8][64];
    int teams = 0, threads = 0, wrong = 0, limit = 0;
    #pragma omp target teams num_teams(8) thread_limit(64) map(tofrom : seen, teams, threads, wrong, limit)
    {
        if (omp_get_team_num() == 0) {
            teams = omp_get_num_teams();
            limit = omp_get_thread_limit() <= 64;
        }
        #pragma omp parallel
        {
            int team = omp_get_team_num(), thread = omp_get_thread_num();
            if (team < 8 && thread < 64) {
                #pragma omp atomic
                seen[team][thread]++;
            }
            #pragma omp atomic
            wrong += thread >= omp_get_num_threads() || omp_get_num_threads() > 64;
        }
    }
    int more = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 64; j++)
            more += seen[i][j] > 1;
    // The host may have fewer teams.
    printf("%d %d %d %d %d\n", teams > 0 && teams <= 8, limit, more, wrong, seen[0][0]);
    int in_parallel = -1, level = -1, thread = -1;
    #pragma omp target map(from : in_parallel, level, thread)
    {
        in_parallel = omp_in_parallel();
        level = omp_get_level();
        thread = omp_get_thread_num() + omp_get_team_num() + omp_get_num_teams();
    }
    printf("%d %d %d\n", in_parallel, level, thread);
    return 0;
}
