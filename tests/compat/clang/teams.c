/* Teams and threads, and the loops that are distributed over them. */
#include "check.h"

enum { N = 1000 };

int main(void)
{
    int seen[N] = {0}, teams = 0, wrong = 0, collapsed[20][30] = {{0}}, initial = -1;
#pragma omp target teams num_teams(3) thread_limit(4) map(tofrom : teams, wrong) map(from : initial)
    {
        if (omp_get_team_num() == 0) {
            teams = omp_get_num_teams();
            initial = omp_is_initial_device();
        }
        if (omp_get_team_num() >= omp_get_num_teams()) {
#pragma omp atomic
            wrong++;
        }
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(teams >= 1 && teams <= 3, 1);
    EXPECT(wrong, 0);
#pragma omp target teams distribute map(tofrom : seen)
    for (int i = 0; i < N; i++)
        seen[i] += i;
#pragma omp target teams distribute parallel for simd map(tofrom : seen) schedule(static, 7)
    for (int i = 0; i < N; i++)
        seen[i] += i;
#pragma omp target parallel for map(tofrom : seen) schedule(dynamic, 16)
    for (int i = 0; i < N; i++)
        seen[i] += i;
#pragma omp target simd map(tofrom : seen)
    for (int i = 0; i < N; i++)
        seen[i] += i;
#pragma omp target teams loop collapse(2) map(tofrom : collapsed)
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 30; j++)
            collapsed[i][j] = i * j;
    for (int i = 0; i < N; i++)
        EXPECT(seen[i], 4 * i);
    EXPECT(collapsed[19][29], 551);
    return finish();
}
