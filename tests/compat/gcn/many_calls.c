/* 1600 calls from one kernel of several teams: more than the queue has slots. */
#include "../gcc/check.h"
#pragma omp requires reverse_offload

enum { TEAMS = 4, THREADS = 8, EACH = 50, CALLS = TEAMS * THREADS * EACH };

struct data {
    int initial;
    int wrong;
};

static int served[CALLS];

static int serve(int i)
{
    __atomic_add_fetch(&served[i], 1, __ATOMIC_RELAXED);
    return 2 * i;
}

int main(void)
{
    struct data data = {-1, 0};
#pragma omp target teams num_teams(TEAMS) thread_limit(THREADS) map(tofrom : data)
#pragma omp parallel num_threads(THREADS)
    for (int n = 0; n < EACH; n++) {
        int i = (omp_get_team_num() * THREADS + omp_get_thread_num()) * EACH + n, twice = -1;
        data.initial = omp_is_initial_device();
#pragma omp target device(ancestor : 1) map(from : twice) firstprivate(i)
        twice = serve(i);
        if (twice != 2 * i) {
#pragma omp atomic
            data.wrong++;
        }
    }
    EXPECT_ON_DEVICE(data.initial);
    EXPECT(data.wrong, 0);
    for (int i = 0; i < CALLS; i++)
        EXPECT(served[i], 1);
    return finish();
}
