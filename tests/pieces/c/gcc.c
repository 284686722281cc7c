/*
 * An OpenMP program that calls GOMP_target_ext from a target region, as GCC 13 and newer do for
 * `target device(ancestor:1)`. GCC 12 lacks that, and its libgomp has no control variables for
 * devices, so both are defined here. With TEAMS it needs another function from the same file of
 * libgomp.
 */

#include <stddef.h>

#pragma omp declare target
extern void GOMP_target_ext(int, void (*)(void *), size_t, void **, size_t *, unsigned short *,
                            unsigned int, void **, void **);
#if __GNUC__ < 13
struct {
    int device_num, default_device, nteams, teams_thread_limit;
} __gomp_additional_icvs;
#endif
#pragma omp end declare target

int main(void)
{
    long number = 1;
#ifdef TEAMS
#pragma omp target teams num_teams(2) map(tofrom : number)
#else
#pragma omp target map(tofrom : number)
#endif
    {
        void *addrs[] = {&number};
        size_t sizes[] = {sizeof number};
        unsigned short kinds[] = {3 << 8 | 3};
        GOMP_target_ext(-2, (void (*)(void *))1, 1, addrs, sizes, kinds, 0, NULL, NULL);
    }
    return number != 1;
}
