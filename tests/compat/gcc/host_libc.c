/* Functions of the C library in host functions: memory, sorting, errno, text, files.
   output: from a host region: 42 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#pragma omp requires reverse_offload

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void sort(int *v, int n)
{
    int *copy = malloc(n * sizeof *copy);
    memcpy(copy, v, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, ascending);
    memcpy(v, copy, n * sizeof *copy);
    free(copy);
}

static int close_nothing(void)
{
    errno = 0;
    int result = close(-1);
    return result == -1 ? errno : 0;
}

static void say(int number)
{
    printf("from a host region: %d\n", number);
    fflush(stdout);
}

static size_t written(const char *text)
{
    char back[64] = "";
    FILE *file = tmpfile();
    if (!file)
        return 0;
    fputs(text, file);
    rewind(file);
    if (!fgets(back, sizeof back, file))
        back[0] = 0;
    fclose(file);
    return strcmp(back, text) ? 0 : strlen(back);
}

int main(void)
{
    int initial = -1, sorted = 0, error = -1;
    size_t length = 0;
#pragma omp target map(from : initial, sorted, error, length)
    {
        initial = omp_is_initial_device();
        int v[50], e = -1;
        size_t l = 0;
        char text[] = "text of the device";
        for (int i = 0; i < 50; i++)
            v[i] = i * 37 % 50;
#pragma omp target device(ancestor : 1) map(tofrom : v)
        sort(v, 50);
#pragma omp target device(ancestor : 1) map(from : e)
        e = close_nothing();
#pragma omp target device(ancestor : 1)
        say(42);
#pragma omp target device(ancestor : 1) map(to : text) map(from : l)
        l = written(text);
        sorted = 1;
        for (int i = 0; i < 50; i++)
            sorted &= v[i] == i;
        error = e;
        length = l;
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(sorted, 1);
    EXPECT(error, EBADF);
    EXPECT(length, 18);
    return finish();
}
