/* A library that has the first target region of the process and is closed as soon as that has
   ended. libgomp still uses its image, so the library stays loaded.
   plugin: parts/first_library.c */
#include <dlfcn.h>
#include "check.h"
#pragma omp requires reverse_offload

static int calls;

static void called(void)
{
    calls++;
}

static void own(void)
{
    int initial = -1;
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
#pragma omp target device(ancestor : 1)
        called();
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(calls, 1);
}

int main(void)
{
    const char *file = "./first_library.so";
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*first)(int, int *) = (int (*)(int, int *))dlsym(library, "first_library");
    int initial = -1;
    EXPECT(first != NULL, 1);
    EXPECT(first(1, &initial), 1101);
    EXPECT_ON_DEVICE(initial);
    EXPECT(dlclose(library), 0);
    if (on_device())
        EXPECT(dlopen(file, RTLD_NOW | RTLD_NOLOAD) != NULL, 1);
    own();
    return finish();
}
