/* A region that needs LLVM's device runtime, which is not linked.
   only: emu
   ends: signal 6
   output: `__kmpc_target_init`
   output: of LLVM's device runtime, which is not linked into it */
#include "check.h"

int main(void)
{
    int number = 0;

#pragma omp target map(tofrom : number)
    number = 1;
    return finish();
}
