#define FORM(n) ((n) % 3 ? SIGNAL : IN_SLOT)
#include "many_calls.h"
