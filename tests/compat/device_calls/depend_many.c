/* Thousands of regions in rows, on emulated GPUs.
   only: emu */
#include "../clang/depend_many.c"
