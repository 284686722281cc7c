/* Kernels in the form that compilers emit for OpenMP target regions for the host: C functions
   whose parameters are words. They cannot call the host. */

#include <pthread.h>
#include <stdint.h>

/* Stores the number of the thread that runs it. */
void tell_thread(void *environment, uint64_t *to)
{
    (void)environment;
    *to = (uint64_t)pthread_self();
}

#define WORD(n) uint64_t w##n
#define NAME(n) w##n
#define TEN(of, n)                                                                             \
    of(n##0), of(n##1), of(n##2), of(n##3), of(n##4), of(n##5), of(n##6), of(n##7), of(n##8),  \
        of(n##9)
#define ALL(of)                                                                                \
    of(0), of(1), of(2), of(3), of(4), of(5), of(6), TEN(of, 1), TEN(of, 2), TEN(of, 3),       \
        TEN(of, 4), TEN(of, 5), TEN(of, 6), TEN(of, 7), TEN(of, 8), TEN(of, 9), TEN(of, 10),   \
        TEN(of, 11), TEN(of, 12)

/* Copies all of its 127 words to the address in the first one. */
void most_words(ALL(WORD))
{
    uint64_t words[] = {ALL(NAME)};

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        ((uint64_t *)w0)[i] = words[i];
}

void no_words(void)
{
}
