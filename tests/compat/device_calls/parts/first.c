/* A library that calls its own function, whose name also exists in another library. */
#include "region.h"
#include "revoff_openmp.h"

REVOFF_HOST_FUNCTION(which)

void which(void **args)
{
    *(int *)args[0] = 1;
}

int first(void)
{
    int answer = 0;

#pragma omp target map(from : answer)
    {
        void *addrs[] = {&answer};
        size_t sizes[] = {sizeof answer};
        unsigned short kinds[] = {KIND(REVOFF_MAP_FROM, 2)};
        revoff_call(REVOFF_CALL(which), 1, addrs, sizes, kinds);
    }
    return answer;
}
