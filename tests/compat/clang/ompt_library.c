/* An OpenMP tool that libomp loads.
   image: parts/tool.c
   env: OMP_TOOL_LIBRARIES=./tool.so
   output: the tool has ended */
#include "check.h"

int main(void)
{
    int x = 1;
#pragma omp target map(tofrom : x)
    x = omp_is_initial_device() ? 0 : x + 1;
    EXPECT(x, 2);
    return finish();
}
