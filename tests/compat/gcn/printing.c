/* Text that a kernel prints, of all types and with a call in between: it is complete, in order,
   and appears before the region ends. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "../gcc/check.h"
#pragma omp requires reverse_offload

enum { DOTS = 3 * 1024 };

struct data {
    int initial;
};

static void called(int n)
{
    printf("called %d\n", n);
    fflush(stdout);
}

/* Redirects standard output to FILE; returns the previous target. */
static int send_to(int file)
{
    int before = dup(STDOUT_FILENO);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    close(file);
    return before;
}

int main(void)
{
    static char expected[4096] = "n = -7\nd 2.500000\nfirst second\nhalf of a line, the other half\n"
                                 "called 1\nn = -7\n";
    static char found[8192];
    struct data data = {-1};
    FILE *file = tmpfile();
    int screen = send_to(dup(fileno(file)));
#pragma omp target map(tofrom : data)
    {
        int n = 1;
        data.initial = omp_is_initial_device();
        printf("n = %d\nd %f\nfirst second\nhalf of a line, the other half\n", -7, 2.5);
#pragma omp target device(ancestor : 1) firstprivate(n)
        called(n);
        printf("n = %d\n", -7);
        for (int i = 0; i < DOTS; i++)
            printf(".");
        printf("\nthe last words\n");
    }
    send_to(screen);
    memset(expected + strlen(expected), '.', DOTS);
    strcat(expected, "\nthe last words\n");
    EXPECT_ON_DEVICE(data.initial);
    rewind(file);
    EXPECT(fread(found, 1, sizeof found - 1, file), strlen(expected));
    if (strcmp(found, expected) != 0) {
        fault();
        printf("printed:\n%s", found);
    }
    return finish();
}
