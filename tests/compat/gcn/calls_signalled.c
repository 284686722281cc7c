/* As `calls`; the kernel makes calls alternately in the form of the parallel patch and in that
   of GCC 13 to 16.
   stock: any
   only: stand-in */
#include "calls.c"
