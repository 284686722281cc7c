/* A kernel accesses memory that is not allocated.
   ends: error
   stock: any
   env: REVOFF_HSA_STAND_IN_FAULT=1
   output: main._omp_fn.0
   output: 0xdead0000
   only: stand-in */
#include "trap.c"
