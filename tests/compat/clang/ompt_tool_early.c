/* As ompt_tool.c, where a constructor has started libomp before the program is registered. */
#define EARLY
#include "ompt_tool.c"
