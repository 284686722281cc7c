/* Host functions that use OpenMP themselves: loops on several threads, and tasks. */
#include "check.h"
#pragma omp requires reverse_offload

static long fibonacci(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) if (n > 5)
    a = fibonacci(n - 1);
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static long sum_in_parallel(int n)
{
    long sum = 0;
#pragma omp parallel for num_threads(3) reduction(+ : sum)
    for (int i = 1; i <= n; i++)
        sum += i;
    return sum;
}

static void host_function(int n, long *result, int *on_host)
{
    long of_tasks = 0;
    *on_host = omp_is_initial_device();
#pragma omp parallel num_threads(3)
#pragma omp single
    of_tasks = fibonacci(12);
    *result = sum_in_parallel(n) * 1000 + of_tasks;
}

int main(void)
{
    int initial = -1, on_host[4];
    long results[4];
#pragma omp target map(from : initial, results, on_host)
    {
        initial = omp_is_initial_device();
#pragma omp parallel for num_threads(4)
        for (int i = 0; i < 4; i++) {
            long result = -1;
            int host = -1;
#pragma omp target device(ancestor : 1) map(from : result, host) firstprivate(i)
            host_function(100 + i, &result, &host);
            results[i] = result;
            on_host[i] = host;
        }
    }
    EXPECT_ON_DEVICE(initial);
    for (int i = 0; i < 4; i++) {
        EXPECT(on_host[i], 1);
        EXPECT(results[i], (100 + i) * (101 + i) / 2 * 1000 + 144);
    }
    return finish();
}
