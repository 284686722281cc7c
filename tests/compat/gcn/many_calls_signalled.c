/* As `many_calls`; the kernel makes them as the parallel patch does and as GCC 13 to 16 do, by
   turns, so that a place of the queue is used for both.
   stock: any
   only: stand-in */
#include "many_calls.c"
