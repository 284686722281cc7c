/* A program without OpenMP, which loads a library with OpenMP locally. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *library = dlopen("./tasks_alone.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        puts(dlerror());
        return 2;
    }
    int (*tasks)(int) = (int (*)(int))dlsym(library, "tasks_alone");
    int answer = tasks(20);
    if (answer != 42) {
        printf("it is %d, expected 42\n", answer);
        return 1;
    }
    puts("ok");
    return 0;
}
