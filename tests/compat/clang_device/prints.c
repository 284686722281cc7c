// `printf` in regions, in the order of its calls.
#include <stdio.h>

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int n = 42;
    char word[] = "mapped";
    printf("on the host\n");
    #pragma omp target map(to : word)
    {
        printf("plain\n");
        printf("%d %5d|%-5d|%05d %x %X %o %u %c %%\n", n, n, n, n, n, n, n, n, 'q');
        printf("%ld %lld %lu %zu %hd %hhd\n", -1L, 1LL << 40, 1UL << 63, sizeof n, (short)-3, 7);
        printf("%f %.3f %10.2e|%g %g\n", 1.5, 3.14159265, 12345.678, 0.0001, 1e20);
        printf("%s %10s|%-8s|%.2s\n", "literal", "right", "left", "cut");
        printf("%s %s\n", word, n > 40 ? "more" : "less");
        for (int i = 0; i < 3; i++)
            printf("line %d: %g%c", i, i * .5, '\n');
    }
    printf("on the host\n");
    #pragma omp target teams distribute parallel for num_teams(2)
    for (int i = 0; i < 100; i++)
        if (i == 77)
            printf("iteration %d\n", i);
    printf("end\n");
    return 0;
}
