/* The function exists but is not exported.
   ends: signal 6
   output: device code calls host function `hidden`, which
   output: does not export
   output: (`hidden`) is not registered */
#include "check.h"
#include "parts/region.h"
#include "revoff_openmp.h"

REVOFF_HOST_FUNCTION(hidden)

__attribute__((visibility("hidden"))) void hidden(void **args)
{
    *(int *)args[0] = 1;
}

int main(void)
{
    int number = 0;

    REGION(map(tofrom : number))
    EACH(i, 1)
    {
        void *addrs[] = {&number};
        size_t sizes[] = {sizeof number};
        unsigned short kinds[] = {KIND(REVOFF_MAP_TOFROM, 2)};
        revoff_call(REVOFF_CALL(hidden), 1, addrs, sizes, kinds);
    }
    return finish();
}
