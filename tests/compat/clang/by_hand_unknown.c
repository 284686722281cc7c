/* A region that was not registered.
   ends: signal 6
   output: does not have a matching target pointer */
#include "parts/caller.h"

int main(void)
{
    int x = 1;
    region(&x);
    call(3, &x, &x);
    return finish();
}
