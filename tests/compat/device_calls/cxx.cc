/* The headers, compiled as C++.
   only: host */
#include "check.h"
#include "parts/region.h"
#include "revoff_rpc.h"

REVOFF_HOST_FUNCTION(twice)

extern "C" void twice(void **args)
{
    *static_cast<int *>(args[0]) *= 2;
}

extern "C" unsigned long long next(void *data)
{
    return *static_cast<int *>(data) + 1ULL;
}

int main()
{
    int number = 21;
    unsigned long long after = 0;
    unsigned status = 0;
    void *function = reinterpret_cast<void *>(next);

    REGION(map(tofrom : number, after, status) firstprivate(function))
    EACH(i, 1)
    {
        void *addrs[] = {&number};
        size_t sizes[] = {sizeof number};
        unsigned short kinds[] = {KIND(REVOFF_MAP_TOFROM, 2)};
        status = revoff_call(REVOFF_CALL(twice), 1, addrs, sizes, kinds);
        after = rpc_host_call(function, &number, sizeof number);
    }
    EXPECT(status, REVOFF_STATUS_DONE);
    EXPECT(number, 42);
    EXPECT(after, 43);
    return finish();
}
