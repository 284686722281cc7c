/* As ompt_tool.c, but a constructor has started libomp before the program is registered. */
#define EARLY
#include "ompt_tool.c"
