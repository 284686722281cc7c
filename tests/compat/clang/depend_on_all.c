/* Dependences on all memory, in both forms of libomp's functions: the address -1, and a flag.
   report: free */
#include "check.h"

#include <stdint.h>

struct task {
    void *shared;
    int (*routine)(int, struct task *);
    int part;
    uint64_t data[2];
};

struct dependence {
    intptr_t address;
    size_t bytes;
    uint8_t flags;
};

int __kmpc_global_thread_num(void *);
struct task *__kmpc_omp_task_alloc(void *, int, int, size_t, size_t, int (*)(int, struct task *));
int __kmpc_omp_task_with_deps(void *, int, struct task *, int, struct dependence *, int, struct dependence *);

static int may_end, before, between, after;

static int first(int thread, struct task *task)
{
    (void)thread, (void)task;
    EXPECT(arrived(&may_end, 1), 1);
    before = 1;
    return 0;
}

static int on_all(int thread, struct task *task)
{
    (void)thread, (void)task;
    between = before;
    return 0;
}

static int last(int thread, struct task *task)
{
    (void)thread, (void)task;
    after = between;
    return 0;
}

static void make(int (*routine)(int, struct task *), intptr_t address, uint8_t flags)
{
    struct dependence on = {address, address == -1 ? 0 : sizeof(int), flags};
    int thread = __kmpc_global_thread_num(NULL);
    struct task *task = __kmpc_omp_task_alloc(NULL, thread, 1, sizeof *task, 0, routine);
    __kmpc_omp_task_with_deps(NULL, thread, task, 1, &on, 0, NULL);
}

static void round_with(intptr_t address, uint8_t flags)
{
    int x, y;
    may_end = before = between = after = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        make(first, (intptr_t)&x, 3);
        make(on_all, address, flags);
        make(last, (intptr_t)&y, 3);
        /* Time for tasks that start too early. */
        struct timespec pause = {0, 30000000};
        nanosleep(&pause, NULL);
        __atomic_store_n(&may_end, 1, __ATOMIC_SEQ_CST);
#pragma omp taskwait
    }
    EXPECT(between, 1);
    EXPECT(after, 1);
}

int main(void)
{
    round_with(-1, 3);
    round_with(0, 0x80);
    return finish();
}
