/* A region that is called by hand, with the calls of clang 22. */
#include "parts/caller.h"

int main(void)
{
    int x = 1;
    EXPECT(region(&x), 2);
    EXPECT(call(3, NULL, &x), 0);
    EXPECT(x, 3);
    return finish();
}
