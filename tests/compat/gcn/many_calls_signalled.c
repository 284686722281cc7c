/* As `many_calls`; the kernel makes calls alternately in the form of the parallel patch and in
   that of GCC 13 to 16, so that a slot of the queue is used for both.
   stock: any
   only: stand-in */
#include "many_calls.c"
