/* Dependences among siblings, on emulated GPUs. Not without devices, where libomp's helper
   threads fail over the `teams` of the host's version.
   only: emu
   ends: exit 0 */
#include "../clang/depend_nested.c"
