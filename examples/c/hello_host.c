/*
 * The host functions that the kernel in hello.c calls. Each gets an array with the addresses of
 * its arguments, which are copies. The runtime copies them back to the device afterwards if the
 * call requests that. Several device threads may call at the same time.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void greet(void **args);
void sort(void **args);

/* args: a text, and two numbers that are passed by value. */
void greet(void **args)
{
    const char *text = args[0];
    unsigned team = (unsigned)(uintptr_t)args[1];
    unsigned thread = (unsigned)(uintptr_t)args[2];

    printf("%s: team %u, thread %u\n", text, team, thread);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* args: 16 numbers, sorted in place, and the variable for their sum. */
void sort(void **args)
{
    uint32_t *numbers = args[0];
    uint64_t *sum = args[1];

    qsort(numbers, 16, sizeof *numbers, compare);
    *sum = 0;
    for (int i = 0; i < 16; i++)
        *sum += numbers[i];
}
