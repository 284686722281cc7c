/* A kernel that adds up the bytes of a file, which it reads through its host. */

#include <stdint.h>

#include "revoff.h"

/* The functions of host.c. */
REVOFF_HOST_FUNCTION(read_chunk)
REVOFF_HOST_FUNCTION(report)

enum { CHUNK = 4096 };

#if defined(__NVPTX__) || defined(__AMDGCN__)
REVOFF_GPU_KERNEL void sum(void)
#else
REVOFF_KERNEL(sum)
#endif
{
    unsigned char chunk[CHUNK];
    uint64_t offset = 0, total = 0;
    uint32_t length = 0;

    if (revoff_team() != 0 || revoff_thread() != 0)
        return;
    for (;;) {
        /* The call's arguments: their addresses, their sizes, and how they are copied. */
        void *addrs[] = {&offset, chunk, &length};
        size_t sizes[] = {sizeof offset, sizeof chunk, sizeof length};
        unsigned short kinds[] = {REVOFF_MAP_TO, REVOFF_MAP_FROM, REVOFF_MAP_FROM};

        if (revoff_call(REVOFF_CALL(read_chunk), 3, addrs, sizes, kinds) != REVOFF_STATUS_DONE)
            return;
        if (length == 0)
            break;
        for (uint32_t i = 0; i < length; i++)
            total += chunk[i];
        offset += length;
    }

    void *addrs[] = {&total};
    size_t sizes[] = {sizeof total};
    unsigned short kinds[] = {REVOFF_MAP_TO};

    revoff_call(REVOFF_CALL(report), 1, addrs, sizes, kinds);
}
