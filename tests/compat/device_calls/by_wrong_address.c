/* An address that is not a function's is not called.
   ends: signal 6
   output: is no function that the program exports */
#include "check.h"
#include "parts/region.h"
#include "revoff_rpc.h"

unsigned long long number;

int main(void)
{
    void *function = &number;
    unsigned long long result = 1;

    REGION(map(tofrom : result) firstprivate(function))
    EACH(i, 1)
    result = rpc_host_call(function, &result, sizeof result);
    return finish();
}
