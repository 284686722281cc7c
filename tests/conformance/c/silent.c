/* An image without device-rt: its kernel cannot call the host. */

#include "revoff.h"

REVOFF_KERNEL(silent, uint64_t *)
{
    uint64_t *number = REVOFF_PARAM(uint64_t *, 0);

    *number += 1;
}
