/* Each form of dependence, between nowait regions, constructs for data, and host tasks.
   report: free */
#include "check.h"
#include "parts/one_thread.h"

enum { N = 24, SLOW = 30000 };

/* Regions whose data is already mapped, so that nothing is copied. */
static void chain(void)
{
    int x = 1;
#pragma omp target data map(tofrom : x)
    for (int i = 0; i < N; i++) {
        TARGET(nowait depend(inout : x) map(tofrom : x))
        x = x * 3 % 1009;
    }
    int expected = 1;
    for (int i = 0; i < N; i++)
        expected = expected * 3 % 1009;
#pragma omp taskwait
    EXPECT(x, expected);
}

/* The data is unmapped while regions wait for each other. */
static void chain_of_copies(void)
{
    int x = 1, expected = 1;
    for (int i = 0; i < N; i++) {
        TARGET(nowait depend(inout : x) map(tofrom : x))
        x = x * 3 % 1009;
        expected = expected * 3 % 1009;
    }
#pragma omp taskwait
    EXPECT(x, expected);
}

static void diamonds(void)
{
    int a = 1, b = 0, c = 0;
#pragma omp target enter data map(to : a, b, c)
    for (int i = 0; i < 5; i++) {
        TARGET(nowait depend(in : a) depend(out : b) map(tofrom : a, b))
        b = a + 1;
        TARGET(nowait depend(in : a) depend(out : c) map(tofrom : a, c))
        c = a + 2;
        TARGET(nowait depend(in : b, c) depend(out : a) map(tofrom : a, b, c))
        a = b * c % 1009;
    }
#pragma omp taskwait
#pragma omp target exit data map(from : a, b, c)
    int expected = 1;
    for (int i = 0; i < 5; i++)
        expected = (expected + 1) * (expected + 2) % 1009;
    EXPECT(a, expected);
}

static void fan(void)
{
    int source = 0, out[N] = {0}, sum = 0;
#pragma omp target data map(tofrom : source, out, sum)
    {
        TARGET(nowait depend(out : source) map(tofrom : source))
        source = 7;
        for (int i = 0; i < N; i++) {
            TARGET(nowait depend(in : source) depend(out : out[i]) map(tofrom : source, out))
            out[i] = source + i;
        }
        TARGET(nowait depend(iterator(int i = 0 : N), in : out[i]) depend(out : sum) map(tofrom : out, sum))
        for (int i = 0; i < N; i++)
            sum += out[i];
#pragma omp taskwait depend(in : sum)
#pragma omp target update from(sum)
        EXPECT(sum, N * 7 + N * (N - 1) / 2);
#pragma omp taskwait
    }
}

/* Host tasks before, between and after regions. */
static void host_between(void)
{
    int x = 0, seen = 0;
#pragma omp target data map(tofrom : x)
    {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 8; i++) {
            TARGET(nowait depend(inout : x) map(tofrom : x))
            x += 1;
#pragma omp target update from(x) nowait depend(inout : x)
#pragma omp task depend(inout : x) shared(x, seen)
            {
                seen += x;
                x *= 2;
            }
#pragma omp target update to(x) nowait depend(inout : x)
        }
    }
    int expected = 0, sum = 0;
    for (int i = 0; i < 8; i++) {
        sum += ++expected;
        expected *= 2;
    }
    EXPECT(x, expected);
    EXPECT(seen, sum);
}

/* Sets, one of which makes its members exclude each other. */
static void sets(void)
{
    int x = 1, both = 0, inside = 0, apart[8] = {0};
#pragma omp target data map(tofrom : x, apart)
    {
#pragma omp parallel
#pragma omp single
        {
            TARGET(nowait depend(out : x) map(tofrom : x))
            x = 5;
            for (int i = 0; i < 8; i++) {
#pragma omp task depend(mutexinoutset : x) shared(both, inside)
                {
                    /* No other member of the set runs now. */
                    int here = ++inside;
                    both += here;
                    inside--;
                }
            }
            for (int i = 0; i < 4; i++) {
                TARGET(nowait depend(mutexinoutset : x) map(tofrom : x))
                x += 1;
            }
            for (int i = 0; i < 8; i++) {
                TARGET(nowait depend(inoutset : x) map(tofrom : x, apart))
                apart[i] = x;
            }
            TARGET(nowait depend(in : x) map(tofrom : x, apart))
            for (int i = 0; i < 8; i++)
                x += apart[i];
        }
    }
    EXPECT(both, 8);
    EXPECT(x, 9 + 8 * 9);
}

static void groups(void)
{
    int x = 0, y = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp target enter data map(to : x) nowait depend(out : x)
#pragma omp taskgroup
        {
            for (int i = 0; i < 4; i++) {
                TARGET(nowait depend(inout : x) map(tofrom : x))
                x += 2;
            }
        }
        TARGET(depend(in : x) map(tofrom : x, y))
        y = x;
        EXPECT(y, 8);
#pragma omp target exit data map(from : x) nowait depend(inout : x)
#pragma omp taskwait
    }
    EXPECT(x, 8);
}

/* Tasks whose end only libomp sees, and tasks that depend on everything. */
static void odd_tasks(void)
{
    int x = 0, y = 0, order = 0;
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp target data map(tofrom : x, y)
    {
#pragma omp parallel
#pragma omp single
        {
#pragma omp task untied depend(out : x) shared(order)
            {
                order = 1;
#pragma omp taskyield
                order = 2;
            }
            TARGET(nowait depend(inout : x) map(tofrom : x))
            x += 1;
#pragma omp task detach(event) depend(inout : x) shared(order)
            {
                order = order * 10 + 3;
            }
#pragma omp task
            omp_fulfill_event(event);
            TARGET(nowait depend(inout : x) map(tofrom : x))
            x += 1;
            TARGET(nowait depend(out : y) map(tofrom : y))
            y = 4;
#pragma omp task depend(out : omp_all_memory) shared(order)
            order = order * 10 + 4;
            TARGET(nowait depend(inout : x) map(tofrom : x, y))
            x += y;
#pragma omp task if (0) depend(inout : x) shared(order)
            order = order * 10 + 5;
        }
    }
    EXPECT(order, 2345);
    EXPECT(x, 6);
}

/* A copy by the library, after a region and before one; and regions that a condition keeps on
   the host. */
static void copies_and_conditions(void)
{
    int device = omp_get_default_device(), host = omp_get_initial_device(), x = 3, y = 0;
    if (device == host || omp_get_num_devices() == 0)
        return;
    int *memory = omp_target_alloc(sizeof x, device);
    omp_depend_t on[1];
#pragma omp depobj(on[0]) depend(inout : x)
    omp_target_memcpy_async(memory, &x, sizeof x, 0, 0, device, host, 1, on);
    TARGET(nowait is_device_ptr(memory) depend(depobj : on[0]))
    *memory *= 5;
    TARGET(nowait is_device_ptr(memory) depend(depobj : on[0]))
    *memory += 1;
    omp_target_memcpy_async(&y, memory, sizeof y, 0, 0, host, device, 1, on);
    for (int i = 0; i < 4; i++) {
        TARGET(nowait if (target : i % 2) map(tofrom : y) depend(inout : x))
        y = y * 2 + i;
    }
#pragma omp taskwait
#pragma omp depobj(on[0]) destroy
    int expected = 16;
    for (int i = 0; i < 4; i++)
        expected = expected * 2 + i;
    EXPECT(y, expected);
    omp_target_free(memory, device);
}

/* The host version uses the data that the previous region copies back. */
static void host_version_behind_present(void)
{
    int x = 1;
#pragma omp target data map(tofrom : x)
    {
        for (int i = 0; i < 6; i++) {
            TARGET(nowait depend(inout : x) map(tofrom : x))
            x += 1;
#pragma omp target update from(x) nowait depend(inout : x)
            TARGET(nowait if (target : 0) depend(inout : x) map(tofrom : x))
            x *= 2;
#pragma omp target update to(x) nowait depend(inout : x)
        }
#pragma omp taskwait
    }
    int expected = 1;
    for (int i = 0; i < 6; i++)
        expected = (expected + 1) * 2;
    EXPECT(x, expected);
}

static int device_value(const int *there)
{
    int value = 0;
    omp_target_memcpy(&value, there, sizeof value, 0, 0, omp_get_initial_device(), omp_get_default_device());
    return value;
}

/* A wait on the host for a region returns after the region's end, even if nothing is copied. */
static void waits_for_the_end(void)
{
    int x = 0, seen[4] = {0};
    if (omp_get_num_devices() == 0)
        return;
#pragma omp target data map(tofrom : x)
    {
        int *there = omp_get_mapped_ptr(&x, omp_get_default_device());
#pragma omp parallel
#pragma omp single
        {
            TARGET(nowait depend(inout : x) map(tofrom : x))
            {
                for (volatile int i = 0; i < SLOW; i++)
                    ;
                x = 1;
            }
#pragma omp task depend(inout : x) shared(seen)
            seen[0] = device_value(there);
            TARGET(nowait depend(inout : x) map(tofrom : x))
            {
                for (volatile int i = 0; i < SLOW; i++)
                    ;
                x = 2;
            }
#pragma omp taskwait depend(in : x)
            seen[1] = device_value(there);
#pragma omp taskgroup
            {
                TARGET(nowait depend(inout : x) map(tofrom : x))
                {
                    for (volatile int i = 0; i < SLOW; i++)
                        ;
                    x = 3;
                }
            }
            seen[2] = device_value(there);
            TARGET(nowait depend(inout : x) map(tofrom : x))
            {
                for (volatile int i = 0; i < SLOW; i++)
                    ;
                x = 4;
            }
        }
        seen[3] = device_value(there);
    }
    for (int i = 0; i < 4; i++)
        EXPECT(seen[i], i + 1);
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        chain();
        chain_of_copies();
        diamonds();
        fan();
        host_between();
        sets();
        groups();
        odd_tasks();
        copies_and_conditions();
        host_version_behind_present();
        waits_for_the_end();
    }
    return finish();
}
