/* Measures requests: an empty host region, and one with 64 bytes both ways, from one device
   thread, and from all threads of several teams. Both the device and the host count every
   request.

   requests [SECONDS [TEAMS [THREADS]]]: the duration of each measurement (0: a few requests,
   to check that they arrive), and the number of teams and threads that call at once. Prints
   one line of whole numbers for each measurement. */
#include "check.h"
#pragma omp requires reverse_offload

enum { BYTES = 64, FEW = 3, MOST = 1 << 24 };

static long served;

static void serve(void)
{
    __atomic_add_fetch(&served, 1, __ATOMIC_RELAXED);
}

static void serve_bytes(unsigned char *bytes)
{
    for (int i = 0; i < BYTES; i++)
        bytes[i]++;
    serve();
}

/* Each is a kernel; how many requests its threads made, with the right answer. */
static long empty_from_one(int rounds, int teams, int threads)
{
    long made = 0;
    (void)teams, (void)threads;
#pragma omp target map(tofrom : made)
    for (int i = 0; i < rounds; i++) {
#pragma omp target device(ancestor : 1)
        serve();
        made++;
    }
    return made;
}

static long bytes_from_one(int rounds, int teams, int threads)
{
    long made = 0;
    (void)teams, (void)threads;
#pragma omp target map(tofrom : made)
    {
        unsigned char bytes[BYTES] = {0};
        for (int i = 0; i < rounds; i++) {
#pragma omp target device(ancestor : 1) map(tofrom : bytes)
            serve_bytes(bytes);
            made += bytes[0] == (unsigned char)(i + 1) && bytes[BYTES - 1] == bytes[0];
        }
    }
    return made;
}

static long empty_from_all(int rounds, int teams, int threads)
{
    long made = 0;
#pragma omp target teams num_teams(teams) thread_limit(threads) map(tofrom : made)
#pragma omp parallel num_threads(threads)
    {
        long own = 0;
        for (int i = 0; i < rounds; i++) {
#pragma omp target device(ancestor : 1)
            serve();
            own++;
        }
#pragma omp atomic
        made += own;
    }
    return made;
}

static long bytes_from_all(int rounds, int teams, int threads)
{
    long made = 0;
#pragma omp target teams num_teams(teams) thread_limit(threads) map(tofrom : made)
#pragma omp parallel num_threads(threads)
    {
        unsigned char bytes[BYTES] = {0};
        long own = 0;
        for (int i = 0; i < rounds; i++) {
#pragma omp target device(ancestor : 1) map(tofrom : bytes)
            serve_bytes(bytes);
            own += bytes[0] == (unsigned char)(i + 1) && bytes[BYTES - 1] == bytes[0];
        }
#pragma omp atomic
        made += own;
    }
    return made;
}

typedef long kernel(int rounds, int teams, int threads);

/* Makes as many requests as last for SECONDS. */
static void measure(const char *call, kernel *kernel, double seconds, int teams, int threads)
{
    long askers = (long)teams * threads;
    int rounds = seconds > 0 ? 1 : FEW;
    for (;;) {
        served = 0;
        double start = omp_get_wtime();
        long made = kernel(rounds, teams, threads);
        double took = omp_get_wtime() - start;
        EXPECT(made, askers * rounds);
        EXPECT(served, askers * rounds);
        if (faults)
            return;
        if (took >= seconds || rounds >= MOST) {
            printf("call=%s teams=%d threads=%d requests=%ld microseconds=%.0f per_second=%.0f\n",
                   call, teams, threads, made, took * 1e6, made / took);
            fflush(stdout);
            return;
        }
        /* At most ten times as many: the first ones take longer than those that follow. */
        double factor = took > 0 ? 1.2 * seconds / took : 10;
        factor = factor < 2 ? 2 : factor > 10 ? 10 : factor;
        rounds = rounds * factor < MOST ? (int)(rounds * factor) : MOST;
    }
}

int main(int count, char **arguments)
{
    double seconds = count > 1 ? atof(arguments[1]) : 0;
    int teams = count > 2 ? atoi(arguments[2]) : 3;
    int threads = count > 3 ? atoi(arguments[3]) : 4;
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT_ON_DEVICE(initial);
    measure("empty", empty_from_one, seconds, 1, 1);
    measure("empty", empty_from_all, seconds, teams, threads);
    measure("64_bytes", bytes_from_one, seconds, 1, 1);
    measure("64_bytes", bytes_from_all, seconds, teams, threads);
    return finish();
}
