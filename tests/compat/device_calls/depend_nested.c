/* Dependences among siblings, on emulated GPUs. Not without devices, where libomp's helper
   threads fail in the `teams` construct of the host version.
   only: emu
   ends: exit 0 */
#include "../clang/depend_nested.c"
