/* LLVM's call of the host: a function by its address, with a copy of its arguments. */
#include "check.h"
#include "parts/region.h"
#include "revoff_rpc.h"

enum { COUNT = 64 };

unsigned long long add(void *data)
{
    unsigned *two = data;

    two[0] += two[1];
    return two[0];
}

int main(void)
{
    unsigned long long sums[COUNT];
    unsigned kept[COUNT];
    void *function = (void *)add;

    REGION(map(from : sums, kept) firstprivate(function))
    EACH(i, COUNT)
    {
        unsigned two[2] = {i, 10};
        sums[i] = rpc_host_call(function, two, sizeof two);
        kept[i] = two[0];
    }
    for (unsigned i = 0; i < COUNT; i++) {
        EXPECT(sums[i], i + 10);
        EXPECT(kept[i], i);
    }
    return finish();
}
