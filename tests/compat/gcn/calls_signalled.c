/* As `calls`; the kernel makes them as the parallel patch does, and as GCC 13 to 16 do, by
   turns.
   stock: any
   only: stand-in */
#include "calls.c"
