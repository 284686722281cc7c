/* An OpenMP tool in the program itself, which starts libomp from a constructor: libomp then
   requests the number of devices during the registration of the program, or before it. */
#include "check.h"
#include <omp-tools.h>

static int started;

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    (void)lookup, (void)device, (void)data;
    started++;
    return 1;
}

static void finalize(ompt_data_t *data)
{
    (void)data;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}

#ifdef EARLY
__attribute__((constructor(101))) static void start(void)
{
    omp_get_max_threads();
}
#endif

int main(void)
{
    int x = 0;
#pragma omp target map(from : x)
    x = omp_is_initial_device();
    EXPECT_ON_DEVICE(x);
#pragma omp parallel num_threads(2)
#pragma omp atomic
    x++;
    EXPECT(x, 2);
    EXPECT(started, 1);
    return finish();
}
