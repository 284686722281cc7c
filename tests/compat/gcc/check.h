/* Functions that all programs here share: a program prints each error, with the value and the
   expected one, and ends with 1; or it prints "ok" and ends with 0. With COMPAT_ON_HOST in the
   environment, the programs do not check where target regions ran, nor conditions that hold
   only for a device with memory of its own. The programs themselves can then be tested without
   a device. */
#ifndef CHECK_H
#define CHECK_H

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Host functions may run at the same time. */
static int faults;

static inline void fault(void)
{
    __atomic_add_fetch(&faults, 1, __ATOMIC_SEQ_CST);
}

static inline void expect(int line, const char *what, long long got, long long wanted)
{
    if (got != wanted) {
        fault();
        printf("line %d: %s is %lld, expected %lld\n", line, what, got, wanted);
    }
}

static inline void expect_real(int line, const char *what, double got, double wanted)
{
    if (got != wanted) {
        fault();
        printf("line %d: %s is %.17g, expected %.17g\n", line, what, got, wanted);
    }
}

#define EXPECT(got, wanted) expect(__LINE__, #got, (long long)(got), (long long)(wanted))
#define EXPECT_REAL(got, wanted) expect_real(__LINE__, #got, (got), (wanted))

/* Whether target regions must run on a device that has memory of its own. */
static inline int on_device(void)
{
    return getenv("COMPAT_ON_HOST") == NULL;
}

/* INITIAL is the result of omp_is_initial_device() in a target region. */
#define EXPECT_ON_DEVICE(initial) expect(__LINE__, #initial, on_device() ? (initial) : 0, 0)

/* Waits until COUNT has reached WANTED; returns 0 if that takes too long. */
static inline int arrived(int *count, int wanted)
{
    struct timespec pause = {0, 1000000};
    time_t end = time(NULL) + 20;
    while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < wanted) {
        if (time(NULL) > end)
            return 0;
        nanosleep(&pause, NULL);
    }
    return 1;
}

static inline int finish(void)
{
    if (faults) {
        printf("%d faults\n", faults);
        return 1;
    }
    puts("ok");
    return 0;
}

#endif
