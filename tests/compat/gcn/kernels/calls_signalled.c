#define FORM(n) ((n) % 3 ? SIGNAL : IN_SLOT)
#include "calls.h"
