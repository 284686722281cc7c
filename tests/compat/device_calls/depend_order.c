/* Dependences of each form, on emulated GPUs.
   only: emu */
#include "../clang/depend_order.c"
