/* The plugin does not provide memory that host and device share. It logs the requirement, the
   consequence and the remedy, because libgomp runs such a program on the host without a
   message.
   ends: error
   env: REVOFF_LOG=warn
   output: the program requires `unified_shared_memory`, which the devices of this plugin do not provide
   output: its target regions run on the host, or it ends if OMP_TARGET_OFFLOAD=mandatory
   output: remove the clause from `omp requires` and map the data */
#include "check.h"
#pragma omp requires unified_shared_memory

int main(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    initial = omp_is_initial_device();
    EXPECT(initial, 0);
    return finish();
}
