/* A "present" map of data that is not mapped ends the program.
   since: 14
   ends: error
   output: present
   output: it has begun */
#include "check.h"
#pragma omp requires reverse_offload

static void touch(int *v)
{
    v[0]++;
}

int main(void)
{
    puts("it has begun");
    fflush(stdout);
#pragma omp target
    {
        int mine[4] = {1, 2, 3, 4};
#pragma omp target device(ancestor : 1) map(present, tofrom : mine)
        touch(mine);
    }
    puts("the program goes on without it");
    return 0;
}
