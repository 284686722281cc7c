#include "device.h"

enum { TEAMS = 3, THREADS = 4 };

struct data {
    int initial;
    int factor;
    int values[8];
    int reached[TEAMS][THREADS];
    int begun;
    int overwritten;
};

NO_CONSTRUCTORS

KERNEL(scale, "main._omp_fn.0");
int scale(const struct wave *wave)
{
    struct data *data = wave->arguments->vars[0];
    int *table = wave->find(wave->image, "table");
    if (!is_first(wave))
        return 0;
    data->initial = 0;
    for (int i = 0; i < 8; i++)
        data->values[i] = data->factor * table[i];
    table[1] = 77;
    return 0;
}

/* Whether all words of a block of memory have this value. */
static int is_filled(const char *from, long size, char number)
{
    for (long i = 0; i < size; i++)
        if (from[i] != number)
            return 0;
    return 1;
}

KERNEL(reach, "main._omp_fn.1");
int reach(const struct wave *wave)
{
    struct arguments *arguments = wave->arguments;
    struct data *data = arguments->vars[0];
    if (wave->teams != TEAMS || wave->threads != THREADS)
        return 1;
    data->reached[wave->team][wave->thread]++;
    /* Each thread has a stack, each team an arena, and the kernel a heap that begins with its
       size. All are filled concurrently. */
    char *stack = own_stack(wave);
    char *arena = arguments->arena + (long)wave->team * arguments->arena_per_team;
    char *heap = arguments->heap + sizeof(int64_t);
    long sizes[3] = {arguments->stack_per_thread, 0, 0};
    if (is_first(wave))
        sizes[1] = arguments->arena_per_team;
    /* GCC's plugin includes the bytes of the size itself. */
    if (is_first(wave) && wave->team == 0)
        sizes[2] = *(int64_t *)arguments->heap - sizeof(int64_t);
    char *parts[3] = {stack, arena, heap};
    for (int i = 0; i < 3; i++)
        if (sizes[i] && !wave->may_use(wave->gpu, parts[i], sizes[i])) {
            print_integer(wave, "not allocated: bytes of part ", i);
            __atomic_add_fetch(&data->overwritten, 1, __ATOMIC_RELAXED);
            sizes[i] = 0;
        }
    char number = wave->team * wave->threads + wave->thread;
    memset(stack, number, sizes[0]);
    memset(arena, 64 + number, sizes[1]);
    memset(heap, 127, sizes[2]);
    __atomic_add_fetch(&data->begun, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&data->begun, __ATOMIC_ACQUIRE) < TEAMS * THREADS)
        sched_yield();
    if (!is_filled(stack, sizes[0], number) || !is_filled(arena, sizes[1], 64 + number) ||
        !is_filled(heap, sizes[2], 127))
        __atomic_add_fetch(&data->overwritten, 1, __ATOMIC_RELAXED);
    return 0;
}
