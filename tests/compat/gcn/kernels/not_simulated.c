#include "device.h"

NO_CONSTRUCTORS
