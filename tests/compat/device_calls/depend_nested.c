/* Dependences among siblings, on emulated GPUs.
   only: emu */
#include "../clang/depend_nested.c"
