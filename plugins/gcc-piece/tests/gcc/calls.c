/* Calls of the host from teams, threads and lanes. */

#include <stddef.h>

#if __GNUC__ >= 13
#pragma omp requires reverse_offload
#pragma omp declare target
static int twice(int n)
{
    int result = 0;
#pragma omp target device(ancestor : 1) map(to : n) map(from : result)
    result = 2 * n;
    return result;
}
#pragma omp end declare target
#else
/* GCC 12 makes no such call, but its libgomp has the function. */
#pragma omp declare target
extern void GOMP_target_ext(int, void (*)(void *), size_t, void **, size_t *, unsigned short *,
                            unsigned int, void **, void **);
static int twice(int n)
{
    void *addrs[] = {&n};
    size_t sizes[] = {sizeof n};
    unsigned short kinds[] = {2 << 8 | 3};
    GOMP_target_ext(-2, (void (*)(void *))1, 1, addrs, sizes, kinds, 0, NULL, NULL);
    return n;
}
#pragma omp end declare target
#endif

int main(void)
{
    int sum = 0;
#pragma omp target teams distribute parallel for num_teams(4) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += twice(i);
    return sum != 9900;
}
