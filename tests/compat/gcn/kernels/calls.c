#define FORM(n) ((void)(n), IN_SLOT)
#include "calls.h"
