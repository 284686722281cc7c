/* Data that one function enters, another uses and a third exits. */
#include "check.h"

struct state {
    int n;
    int *cells;
};

static void enter(struct state *s)
{
    int *cells = s->cells, n = s->n;
#pragma omp target enter data map(to : cells[0 : n])
}

static void step(struct state *s)
{
    int *cells = s->cells, n = s->n;
#pragma omp target teams distribute parallel for
    for (int i = 0; i < n; i++)
        cells[i] = cells[i] * 3 + 1;
}

static void leave(struct state *s)
{
    int *cells = s->cells, n = s->n;
#pragma omp target exit data map(from : cells[0 : n])
}

int main(void)
{
    struct state s = {100, malloc(100 * sizeof(int))};
    for (int i = 0; i < 100; i++)
        s.cells[i] = i;
    enter(&s);
    for (int k = 0; k < 4; k++)
        step(&s);
    EXPECT(s.cells[1], 1);
    leave(&s);
    for (int i = 0; i < 100; i++)
        EXPECT(s.cells[i], 81 * i + 40);
    free(s.cells);
    return finish();
}
