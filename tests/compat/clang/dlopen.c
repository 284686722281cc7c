/* A library with an image that is loaded, unloaded and loaded again. LLVM's library reports
   names of the unloaded library, and crashes.
   report: free
   plugin: parts/first_library.c */
#include "check.h"
#include <dlfcn.h>

int main(void)
{
    for (int round = 0; round < 3; round++) {
        int y = -1;
        void *library = dlopen("./first_library.so", RTLD_NOW);
        EXPECT(library != NULL, 1);
        int (*function)(int) = (int (*)(int))dlsym(library, "first_library");
        EXPECT(function(5), 151);
        EXPECT(function(5), 152);
        EXPECT(dlclose(library), 0);
#pragma omp target map(from : y)
        y = round;
        EXPECT(y, round);
    }
    return finish();
}
