// Variables of the device: initialised, updated in both directions, linked, and without a host
// counterpart.
#include <stdio.h>

#pragma omp begin declare target
int counter = 5;
double table[6] = {1, .5, .25, .125, .0625, .03125};
static const char *const names[] = {"zero", "one", "two", "three"};
__attribute__((noinline)) static int calls(void) {
    static int made;
    return ++made;
}
#pragma omp end declare target

static int linked[4] = {1, 2, 3, 4};
#pragma omp declare target link(linked)

int main(void) {
    int total = 0, letters = 0;
    #pragma omp target map(from : total) map(tofrom : letters)
    {
        total = counter * 100;
        for (int i = 0; i < 6; i++)
            total += (int)(table[i] * 32) + calls();
        for (int i = 0; i < 4; i++)
            for (const char *c = names[i]; *c; c++)
                letters += *c;
    }
    printf("%d %d\n", total, letters);
    table[2] = 100;
    counter = 7;
    #pragma omp target update to(table, counter)
    #pragma omp target map(from : total)
    {
        total = (int)(table[0] + table[2] + table[3]) + counter + calls();
        counter += 10;
        table[5] = 6;
    }
    #pragma omp target update from(table, counter)
    linked[3] = 40;
    #pragma omp target map(tofrom : linked)
    #pragma omp parallel for
    for (int i = 0; i < 4; i++)
        linked[i] += 2;
    printf("%d %d %g %d %d\n", total, counter, table[5], linked[0], linked[3]);
    return 0;
}
