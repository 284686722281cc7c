/* Kernels like those of plain.c that call the host, some of them from threads that they
   start themselves. */

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "revoff.h"

extern const revoff_host_arch *__revoff_host_arch;

REVOFF_HOST_FUNCTION(lookup)

/* A host function changes a number and adds a number of this thread's stack to the returned
   value. The array is too large to travel with a call unless it is on the kernel's own stack.
   */
static uint64_t look_up(uint64_t *number, uint64_t me)
{
    uint64_t own[512] = {me, 1, 0};
    void *addrs[] = {number, own, (void *)(uintptr_t)me};
    size_t sizes[] = {sizeof *number, sizeof own, sizeof me};
    unsigned short kinds[] = {REVOFF_MAP_TOFROM | 3 << 8, REVOFF_MAP_TOFROM | 3 << 8,
                              REVOFF_MAP_FIRSTPRIVATE_INT | 2 << 8};

    revoff_call(REVOFF_CALL(lookup), 3, addrs, sizes, kinds);
    return own[2];
}

void call_once(void *environment, uint64_t *number, uint64_t *result)
{
    (void)environment;
    *result = look_up(number, 5);
}

struct work {
    uint64_t me, rounds;
    uint64_t *number, *result, *told;
};

static void *work(void *argument)
{
    struct work *work = argument;

    *work->told = revoff_thread();
    for (uint64_t i = 0; i < work->rounds; i++) {
        /* Long enough for the host threads that serve calls to sleep. */
        usleep(2000);
        *work->result += look_up(work->number, work->me);
    }
    return NULL;
}

/* Each of 8 threads calls the host; `told` are their numbers. */
void call_by_threads(void *environment, uint64_t *numbers, uint64_t *results, uint64_t *told,
                     uint64_t rounds)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct work works[THREADS];

    (void)environment;
    for (uint64_t i = 0; i < THREADS; i++) {
        works[i] = (struct work){i, rounds, &numbers[i], &results[i], &told[i]};
        if (pthread_create(&threads[i], NULL, work, &works[i]) != 0)
            return;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Runs other work on its thread between two calls, as OpenMP's runtime runs tasks. */
void run_between(void *environment, void (*run)(void *), void *argument, uint64_t *number)
{
    (void)environment;
    look_up(number, 0);
    run(argument);
    look_up(number, 0);
}

/* Uses a large part of the stack. */
void use_stack(void *environment, uint64_t *to, uint64_t bytes)
{
    volatile char array[bytes];

    (void)environment;
    memset((char *)array, 1, bytes);
    *to = array[0] + array[bytes - 1];
}

static void trap(void)
{
    static const char words[] = "out of luck\033[0m";

    __revoff_host_arch->trap((const uint8_t *)words, sizeof words - 1);
}

void trap_here(void *environment)
{
    (void)environment;
    trap();
}

static void *trap_there(void *argument)
{
    trap();
    return argument;
}

void trap_on_thread(void *environment)
{
    pthread_t thread;

    (void)environment;
    if (pthread_create(&thread, NULL, trap_there, NULL) == 0)
        pthread_join(thread, NULL);
}
