/* Two libraries with regions, which have functions of the same name.
   only: host
   library: parts/first.c
   library: parts/second.c */
#include "check.h"

int first(void);
int second(void);

int main(void)
{
    EXPECT(first(), 1);
    EXPECT(second(), 2);
    EXPECT(first(), 1);
    return finish();
}
