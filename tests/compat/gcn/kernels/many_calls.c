#define FORM(n) IN_SLOT
#include "many_calls.h"
