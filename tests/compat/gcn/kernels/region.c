#include "device.h"

enum { TEAMS = 3, THREADS = 4 };

struct data {
    int initial;
    int factor;
    int values[8];
    int reached[TEAMS][THREADS];
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

KERNEL(reach, "main._omp_fn.1");
int reach(const struct wave *wave)
{
    struct data *data = wave->arguments->vars[0];
    struct arguments *arguments = wave->arguments;
    if (wave->teams != TEAMS || wave->threads != THREADS)
        return 1;
    /* Each thread has a stack, each team an arena, and the kernel a heap, whose size comes
       first. */
    memset(own_stack(wave), 1, arguments->stack_per_thread);
    if (is_first(wave)) {
        long arena = arguments->arena_per_team;
        memset(arguments->arena + wave->team * arena, 1, arena);
    }
    if (is_first(wave) && wave->team == 0)
        memset(arguments->heap + sizeof(int64_t), 1, *(int64_t *)arguments->heap);
    data->reached[wave->team][wave->thread]++;
    return 0;
}
