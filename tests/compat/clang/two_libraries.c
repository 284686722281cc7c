/* Two shared libraries with images of their own, and the program with its own. The
   mappings of a library end when it is unloaded; LLVM's library keeps them.
   report: copies
   library: parts/first_library.c
   library: parts/second_library.c */
#include "check.h"

int first_library(int x);
int second_library(int x);

int main(void)
{
    for (int round = 0; round < 3; round++) {
        int y = -1;
        EXPECT(second_library(round + 3), 1000 * (round + 2));
#pragma omp target map(from : y)
        y = round;
        EXPECT(y, round);
        EXPECT(first_library(round), 10 * round + 101 + round);
    }
    return finish();
}
