/* An image for a kind of GPU that is not among the devices.
   only: amd
   ends: signal 6
   env: OMP_TARGET_OFFLOAD=MANDATORY
   output: the program has images for AMD GPUs (`hsa:N`)
   output: REVOFF_DEVICE=emu names none that runs them */
#include "check.h"

int main(void)
{
    int number = 0;

#pragma omp target teams ompx_bare num_teams(1) thread_limit(1) map(tofrom : number)
    number = 1;
    return finish();
}
