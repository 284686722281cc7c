/* Arguments of a version that does not exist yet. LLVM's library reads them as the version that
   it supports.
   stock: ok
   ends: signal 6
   output: 99 */
#include "parts/caller.h"

int main(void)
{
    int x = 1;
    EXPECT(region(&x), 2);
    EXPECT(call(99, NULL, &x), 0);
    EXPECT(x, 3);
    return finish();
}
