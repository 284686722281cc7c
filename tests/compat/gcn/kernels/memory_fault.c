#include "trap.c"
