/* A library with target regions that is loaded and unloaded while the program has its own
   regions, and a library that stays loaded.
   plugin: parts/first_library.c
   plugin: parts/second_library.c */
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
    int initial = -1, before = calls;
#pragma omp target map(from : initial)
    {
        initial = omp_is_initial_device();
#pragma omp target device(ancestor : 1)
        called();
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(calls, before + 1);
}

typedef int function(int what, int *initial);

static void *load(const char *file, const char *name, function **found)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        exit(1);
    }
    *found = (function *)dlsym(library, name);
    if (!*found) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return library;
}

int main(void)
{
    function *first, *second;
    int initial = -1;
    own();
    void *stays = load("./second_library.so", "second_library", &second);
    EXPECT(second(1, &initial), 1201);
    EXPECT_ON_DEVICE(initial);
    for (int round = 0; round < 3; round++) {
        void *goes = load("./first_library.so", "first_library", &first);
        initial = -1;
        EXPECT(first(round, &initial), 1100 + round);
        EXPECT_ON_DEVICE(initial);
        own();
        EXPECT(dlclose(goes), 0);
        own();
        initial = -1;
        EXPECT(second(round, &initial), 1200 + round);
        EXPECT_ON_DEVICE(initial);
    }
    EXPECT(dlclose(stays), 0);
    own();
    return finish();
}
